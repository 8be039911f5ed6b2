"""How status, plan and report grow with the number of stored trials.

    python bench/store.py [--trials 100 1000 10000] [--json FILE]

Each store is made in a temporary folder with the store's own writing functions: configs of a real sweep, results with
invented scores, as many predictions and steps as a trial with 872 dev rows and five epochs of 500 rows leaves behind.
The files were written just before, so they are in the system's cache.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy
from spending import printed, spending  # type: ignore[import-not-found]

from bertxfer.config.composer import Composer
from bertxfer.config.schema import conf_dir
from bertxfer.learning.result import inputs
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.attempt import end_attempt
from bertxfer.sweeps.wanted import sweep_of
from bertxfer.system import files
from bertxfer.system.processes import whoami
from bertxfer.trials.trial import Trial

# As in tamkin2020/fig2, whose own seeds are too few.
WORDS = ("model=mini", "task=mini_sst2,mini_qnli,mini_cola", "scheme=incremental", "k=0..12", "data.n=300,500")
FIGURE = (
    *("figure.kind=curves", "figure.x=k", "figure.series=data.n", "figure.facets=task"),
    *("figure.interval=t95", "figure.tables=[summary,differences]"),
)
PER_SEED = 3 * 13 * 2  # trials of this sweep for each seed
DEV_ROWS, STEPS = 872, 315


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", nargs="+", type=int, default=[100, 1000, 10_000])
    parser.add_argument("--json", type=Path, help="write the rows here too")
    arguments = parser.parse_args()
    rows = measure(arguments.trials)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows}, indent=2) + "\n")


def measure(sizes: list[int]) -> list[dict[str, Any]]:
    """Seconds of each command on stores of these sizes, printed as they come."""
    rows: list[dict[str, Any]] = []
    print(f"{'stored trials':>13}  {'command':24}  {'wall s':>7}  {'CPU s':>7}", flush=True)
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="bxstore") as folder:
            seeds = -(-size // PER_SEED)
            stored, name = fill(Path(folder), seeds)
            sweep, more = [*WORDS, f"seed=0..{seeds - 1}"], [*WORDS, f"seed=0..{seeds}"]
            commands = {
                "status": ["status", "--output-dir", folder],
                "status of the sweep": ["status", "--output-dir", folder, name],
                "plan of a seed more": ["plan", "-m", *more, f"runtime.output_dir={folder}"],
                "report": ["report", "-m", *sweep, *FIGURE, f"runtime.output_dir={folder}"],
            }
            for command, words in commands.items():
                wall, cpu = timed(words)
                rows.append({"stored_trials": stored, "command": command, "wall_seconds": wall, "cpu_seconds": cpu})
                print(f"{stored:13,}  {command:24}  {wall:7.1f}  {cpu:7.1f}", flush=True)
    return rows


def fill(root: Path, seeds: int) -> tuple[int, str]:
    """A store in which this many seeds of the sweep are done: how many trials, and the sweep's name."""
    sweep = sweep_of([*WORDS, f"seed=0..{seeds - 1}", f"runtime.output_dir={root}"], Composer(conf_dir()))
    frozen = manifest.freeze(sweep)
    finish_all(frozen)
    return len(frozen.trials), frozen.name


def finish_all(frozen: manifest.Manifest) -> None:
    """Leaves behind what the trials of a sweep leave."""
    random = numpy.random.default_rng(0)
    safely, files.sync = files.sync, lambda path: None  # nobody waits for a disk here
    try:
        for trial in frozen.trials:
            finish(trial, frozen.store, random)
    finally:
        files.sync = safely


def finish(trial: Trial, store: Store, random: numpy.random.Generator) -> None:
    """Leaves behind what a finished trial leaves."""
    science = trial.science
    kept = 1 - len(science.treatment.redrawn) / 24
    labels = random.integers(0, 2, DEV_ROWS)
    right = random.random(DEV_ROWS) < 0.5 + 0.4 * kept
    predictions = {
        "index": numpy.arange(DEV_ROWS),
        "label": labels,
        "prediction": numpy.where(right, labels, 1 - labels),
    }
    logits = random.random(DEV_ROWS, dtype=numpy.float32)
    predictions |= {f"logit_{i}": numpy.where(predictions["prediction"] == i, logits, -logits) for i in (0, 1)}
    history = [{"step": i + 1, "loss": float(x), "lr": 5e-4} for i, x in enumerate(random.random(STEPS))]
    score = float(right.mean())
    history += [{"step": 63 * e, "epoch": e, trial.headline: score} for e in range(1, 6)]
    result = {
        "id": trial.id,
        "score": score,
        "metrics": {trial.headline: score},
        "undefined": {},
        "task": science.task.name,
        "model": science.model.name,
        "treatment": science.as_dict()["treatment"],
        "treatment_text": "",
        "begun_from": None,
        "seed": science.seeds["order"],
        "n_train": science.data.n,
        "n_dev": DEV_ROWS,
        "data_digest": "0" * 16,
        "inputs": inputs(trial),
        "steps": STEPS,
        "epochs": science.training.epochs,
        "resumed_at_step": None,
        "weights_digest": "0" * 16,
        "timings": {"load": 0.1, "treat": 0.1, "evaluate": 1.0, "train": float(random.uniform(8, 12))},
        "peak_memory_mb": 500.0,
        "environment": {"bertxfer": "0", "git_revision": None, "git_dirty": None, "torch": "0", "device": "cpu"},
    }
    folder = store.begin(trial)
    (folder / "attempts").mkdir()
    (folder / "attempts" / "1.json").write_text(json.dumps(whoami()))
    store.record(trial, result, predictions, history)
    end_attempt(folder / "attempts" / "1.json", "done")


def timed(words: list[str]) -> tuple[float, float]:
    """Seconds by the clock and of CPU that a command takes."""
    with spending() as spent:
        printed([sys.executable, "-m", "bertxfer", *words], {"OMP_NUM_THREADS": "1", "COLUMNS": "200"})
    return round(spent.wall, 2), round(spent.cpu, 2)


if __name__ == "__main__":
    main()
