"""Trials that do nothing, 32 workers at once on one queue: none twice, none lost, and what the queue costs a trial.

    python bench/load.py [--trials 1000 10000] [--workers 32] [--json FILE]

Prints milliseconds of CPU a trial over all workers, and how they grow from the smaller to the larger sweep.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from bench.loading import drained, sweep_of

Row = dict[str, float]


def measured(trials: int, workers: int) -> Row:
    with tempfile.TemporaryDirectory(prefix="bxq") as folder:
        sweep = sweep_of(trials, Path(folder))
        done = drained(sweep, workers)
        ran = [trial for one in done for trial in one.trials]
        lost, twice = {trial.id for trial in sweep.trials} - set(ran), len(ran) - len(set(ran))
        if lost or twice:
            raise SystemExit(f"{len(lost)} trials lost, {twice} run twice")
    per_trial = {
        part: 1000 * sum(getattr(one, part) for one in done) / trials for part in ("starting", "reading", "draining")
    }
    return {"trials": trials, "workers": workers, **per_trial, "queue": per_trial["reading"] + per_trial["draining"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, nargs="+", default=[1000, 10000])
    parser.add_argument("--workers", type=int, default=32)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    for trials in arguments.trials:
        rows.append(row := measured(trials, arguments.workers))
        print(
            f"{trials} trials, {arguments.workers} workers: {row['queue']:.1f} ms of CPU a trial in the queue "
            f"({row['reading']:.1f} to read the sweep, {row['draining']:.1f} to drain it), none lost, none twice; "
            f"{row['starting']:.1f} to start the processes",
            flush=True,
        )
    growth = rows[-1]["queue"] / rows[0]["queue"]
    print(f"a trial of {rows[-1]['trials']} costs {growth:.2f} times what one of {rows[0]['trials']} does")
    if arguments.json is not None:
        arguments.json.write_text(json.dumps({"rows": rows, "growth": growth}, indent=1) + "\n")


if __name__ == "__main__":
    main()
