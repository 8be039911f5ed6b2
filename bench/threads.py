"""The cores of this machine shared out in every way: few workers with many threads, or many with one.

    python bench/threads.py [--per-core 2] [model=minilm task=sst2 data.n=500 ...]

For each number of threads that divides the cores, one sweep with as many workers as that leaves cores for. Prints
trials an hour with the start of the processes, seconds of CPU a trial, and the memory of all workers together.
"""

import argparse
import tempfile
from pathlib import Path

from speed import ours  # type: ignore[import-not-found]
from spending import CORES, spending  # type: ignore[import-not-found]

WORDS = ["model=mini", "task=mini_sst2", "data.n=500", "training.epochs=2"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--per-core", type=int, default=2, help="trials of a sweep for each core")
    parser.add_argument("words", nargs="*", default=WORDS)
    arguments = parser.parse_args()
    print(f"{' '.join(arguments.words)}, {CORES} cores", flush=True)
    for threads in (count for count in range(1, CORES + 1) if CORES % count == 0):
        print(shared_out(arguments.words, CORES // threads, threads, arguments.per_core * CORES), flush=True)


def shared_out(words: list[str], workers: int, threads: int, trials: int) -> str:
    how = [f"hydra.launcher.workers={workers}", f"hydra.launcher.threads={threads}"]
    with tempfile.TemporaryDirectory(prefix="bertxfer-threads-") as folder, spending() as spent:
        results = ours([*words, f"seed=0..{trials - 1}", *how], Path(folder))
    memory = workers * max(result["peak_memory_mb"] for result in results)
    return (
        f"{workers} workers with {threads} threads each: {3600 * len(results) / spent.wall:.0f} trials an hour, "
        f"{spent.cpu / len(results):.1f} s of CPU a trial, at most {memory:.0f} MB"
    )


if __name__ == "__main__":
    main()
