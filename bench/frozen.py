"""How much faster a step is when the embeddings and the lower half of the layers are frozen: trials of both, in turns.

python bench/frozen.py model=minilm task=sst2 data.n=500
"""

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

TURNS = 3


def main() -> None:
    words = sys.argv[1:] or ["model=mini", "task=mini_sst2", "data.n=500"]
    half = 3 if "model=minilm" in words else 6
    ways = {"all trained": [], "lower half frozen": [f"frozen=[embeddings,'layers 1-{half}']"]}
    found: dict[str, list[float]] = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(TURNS):
            for name, more in ways.items():
                found[name].append(_seconds_a_step(Path(folder) / f"{seed} {name}", [*words, *more, f"seed={seed}"]))
    medians = {name: statistics.median(seconds) for name, seconds in found.items()}
    for name, seconds in found.items():
        print(f"{name}: {1000 * medians[name]:.1f} ms a step ({', '.join(f'{1000 * one:.1f}' for one in seconds)})")
    whole, half_trained = medians.values()
    print(f"{' '.join(words)}: {whole / half_trained:.2f} times as fast")


def _seconds_a_step(folder: Path, words: list[str]) -> float:
    more = ["training.epochs=2", "data.dev_n=8", "runtime.threads=1", f"runtime.output_dir={folder}"]
    subprocess.run([sys.executable, "-m", "bertxfer", *words, *more], check=True, stdout=subprocess.DEVNULL)
    (path,) = folder.glob("trials/*/result.json")
    result = json.loads(path.read_text(encoding="utf-8"))
    return float(result["timings"]["train"] / result["steps"])


if __name__ == "__main__":
    main()
