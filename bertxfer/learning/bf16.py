"""How long a product in bf16 and one in fp32 take on this CPU: `python -m bertxfer.learning.bf16 DEVICE WIDTH`.

It is a process of its own because it may die. A processor that announces AMX, in a virtual machine that does not give
it, ends the process by SIGILL at the first product in bf16. Prints seconds as JSON, or null where the device is no CPU.
"""

import json
import sys
import time

import torch
from torch import nn

from bertxfer.learning import devices

TOKENS = 128  # of a packed batch of eight short texts
REPEATS = 10  # the fastest counts, since nothing makes one faster than it is


def main() -> None:
    wanted, width = sys.argv[1:]
    device = devices.choose(wanted)
    devices.prepare(device, 1, "fp32")
    print(json.dumps(seconds(int(width)) if device.type == "cpu" else None))


def seconds(width: int) -> dict[str, float]:
    """Of the first product of a feed-forward layer and of what its training computes, by precision, in turns."""
    layer, states = nn.Linear(width, 4 * width), torch.randn(TOKENS, width)
    fastest: dict[str, float] = {}
    for precision in ("fp32", "bf16") * REPEATS:
        started = time.process_time()
        with devices.autocast(states.device, precision):
            outcome = layer(states)
        outcome.float().sum().backward()
        took = time.process_time() - started
        fastest[precision] = min(took, fastest.get(precision, took))
    return fastest


if __name__ == "__main__":
    main()
