"""Whether trials in bf16 can run on this machine's CPU, and whether that pays: said before the first of them begins.

It is tried out in a process of its own (learning/bf16.py), so that nothing here dies of it or imports torch, and what
was found is remembered until the machine starts again.
"""

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import metadata
from pathlib import Path

from bertxfer.errors import ConfigError
from bertxfer.store.store import Store
from bertxfer.system import cache
from bertxfer.trials import model_files
from bertxfer.trials.trial import Trial

# With these a process may find another device, or other instructions.
_DECIDING = ("CUDA_VISIBLE_DEVICES", "ONEDNN_MAX_CPU_ISA")
_SLOWER = 1.05  # what is below may be noise


def check(trials: Iterable[Trial], store: Store, device: str, say: Callable[[str], None]) -> None:
    """ConfigError if an unfinished trial in bf16 would end its process here; one line if fp32 would be faster."""
    if device not in ("auto", "cpu"):
        return
    asking = (trial for trial in trials if _wants_bf16(trial) and not store.complete(trial.id, trial.outputs))
    for width in sorted({_width(trial) for trial in asking}):
        told = json.loads(cache.remembered("bf16", [*_here(), device, width], (), partial(_tried, device, width)))
        if told is not None and told["bf16"] > _SLOWER * told["fp32"]:
            say(
                f"training.precision=bf16 is slower than fp32 on this machine: a matrix product {width} wide takes "
                f"{told['bf16'] / told['fp32']:.1f} times as long"
            )


def _wants_bf16(trial: Trial) -> bool:
    chain = trial.science.chain
    stages = chain.stages if chain else ()
    return "bf16" in (trial.science.training.precision, *(stage.training.precision for stage in stages))


def _width(trial: Trial) -> int:
    facts = model_files.facts(Path(trial.model_at))
    return int(facts.get("hidden_size") or facts.get("dim") or 768)


def _here() -> list[str | None]:
    """This machine since it was started, and what else the answer depends on."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    started = boot.read_text().strip() if boot.exists() else platform.node()
    return [started, metadata.version("torch"), *map(os.environ.get, _DECIDING)]


def _tried(device: str, width: int) -> str:
    """What the process says. Not remembered where it dies, since the next one may have another environment."""
    command = [sys.executable, "-m", "bertxfer.learning.bf16", device, str(width)]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if ended.returncode < 0:
        raise ConfigError(
            "training.precision",
            f"bf16 ends its process on this machine ({signal.Signals(-ended.returncode).name} at a matrix product); "
            "fp32 runs, and so may bf16 with ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16 in the environment",
        )
    if ended.returncode > 0:
        said = ended.stderr.strip().splitlines() or ["no reason was given"]
        raise ConfigError("training.precision", f"bf16 could not be tried out on this machine: {said[-1]}")
    return ended.stdout.strip()
