"""What one round of tamkin2020/fig2 costs with the dev set evaluated after every epoch and only after the last.

    python bench/round.py [--of task=sst2 k=0,6 ...] [--before WORDS] [--after WORDS]

MiniLM at n=500, seed 0: three tasks by seven values of k, 21 trials, which take about an hour on two cores. `--of` adds
words that make them fewer. Both sweeps are run by the command line, one after the other. Prints seconds of CPU of all
their processes with every start, of their trials' training and evaluation, and the peak memory of a worker; an error if
a trial's score or weights differ between the two.
"""

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

from speed import ours  # type: ignore[import-not-found]
from spending import spending  # type: ignore[import-not-found]

WORDS = ["experiment=tamkin2020/fig2", "model=minilm", "data.n=500", "seed=0"]
SAME = ("score", "weights_digest", "metrics")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--of", nargs="+", default=[], metavar="WORD", help="further words, for a part of it")
    parser.add_argument("--before", nargs="+", default=["training.evaluate=every"], metavar="WORD")
    parser.add_argument("--after", nargs="+", default=["training.evaluate=last"], metavar="WORD")
    arguments = parser.parse_args()
    words = [*WORDS, *arguments.of]
    print(" ".join(words), flush=True)
    with tempfile.TemporaryDirectory(prefix="bertxfer-round-") as scratch:
        before, slow = measured([*words, *arguments.before], Path(scratch, "before"))
        after, fast = measured([*words, *arguments.after], Path(scratch, "after"))
    if slow.keys() != fast.keys():
        sys.exit("the words before and after make other trials, so there is nothing to compare")
    if differ := [trial for trial in slow if slow[trial] != fast[trial]]:
        sys.exit(f"{len(differ)} of {len(slow)} trials do not end in the same: {', '.join(differ)}")
    print(f"{before / after:.2f} times fewer seconds of CPU; scores and weights of all {len(slow)} trials are the same")


def measured(words: list[str], folder: Path) -> tuple[float, dict[str, Any]]:
    """Seconds of CPU of a sweep, and what each of its trials ended in."""
    with spending() as spent:
        results = ours(words, folder)
    parts = {part: sum(result["timings"][part] for result in results) for part in ("train", "evaluate")}
    print(
        f"{words[-1]}: {len(results)} trials, {spent.cpu:.0f} s of CPU, {spent.wall:.0f} s by the clock; "
        f"{parts['train'] - parts['evaluate']:.0f} s in training, {parts['evaluate']:.0f} s in evaluation, "
        f"{sum(result['evaluations'] for result in results)} evaluations; "
        f"peak {max(result['peak_memory_mb'] for result in results):.0f} MB",
        flush=True,
    )
    return spent.cpu, {result["id"]: {key: result[key] for key in SAME} for result in results}


if __name__ == "__main__":
    main()
