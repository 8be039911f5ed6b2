"""How status, plan and report grow with the number of stored trials.

    python bench/store.py [--trials 100 1000 10000] [--json FILE]

Each store is made in a temporary folder with the store's own writing functions: configs of a real sweep, results with
invented scores, as many predictions and steps as a trial with 872 dev rows and five epochs of 500 rows leaves behind.
The files were written just before, so they are in the system's cache.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy

from bertxfer.config.composer import Composer
from bertxfer.config.schema import conf_dir
from bertxfer.learning.result import inputs
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.attempt import end_attempt
from bertxfer.sweeps.sweep import sweep_of
from bertxfer.system import files
from bertxfer.system.processes import whoami
from bertxfer.trials.trial import Trial

WORDS = ("experiment=tamkin2020/fig2", "model=mini")
PER_SEED = 104  # trials of this sweep for each seed
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
                "report": ["report", "-m", *sweep, f"runtime.output_dir={folder}"],
            }
            for command, words in commands.items():
                wall, cpu = timed(words)
                rows.append({"stored_trials": stored, "command": command, "wall_seconds": wall, "cpu_seconds": cpu})
                print(f"{stored:13,}  {command:24}  {wall:7.1f}  {cpu:7.1f}", flush=True)
    return rows


def fill(root: Path, seeds: int) -> tuple[int, str]:
    """A store in which this many seeds of the sweep are done: how many trials, and the sweep's name."""
    sweep = sweep_of([*WORDS, f"seed=0..{seeds - 1}", f"runtime.output_dir={root}"], Composer(conf_dir()))
    frozen, random = manifest.freeze(sweep), numpy.random.default_rng(0)
    safely, files._sync = files._sync, lambda path: None  # nobody waits for a disk here
    try:
        for trial in frozen.trials:
            _finish(trial, frozen.store, random)
    finally:
        files._sync = safely
    return len(frozen.trials), frozen.name


def _finish(trial: Trial, store: Store, random: numpy.random.Generator) -> None:
    """Leaves behind what a finished trial leaves."""
    science = trial.science
    kept = 1 - len(science.treatment.redrawn) / 24
    labels = random.integers(0, 2, DEV_ROWS)
    right = random.random(DEV_ROWS) < 0.5 + 0.4 * kept
    predictions = {
        "index": numpy.arange(DEV_ROWS),
        "label": labels,
        "prediction": numpy.where(right, labels, 1 - labels),
        "logit_0": random.random(DEV_ROWS, dtype=numpy.float32),
        "logit_1": random.random(DEV_ROWS, dtype=numpy.float32),
    }
    history = [{"step": i + 1, "loss": float(x), "lr": 5e-4} for i, x in enumerate(random.random(STEPS))]
    score = float(right.mean())
    history += [{"step": 63 * e, "epoch": e, science.task.headline: score} for e in range(1, 6)]
    result = {
        "id": trial.id,
        "score": score,
        "metrics": {science.task.headline: score},
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
    before, started = _children(), time.monotonic()
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    ran = subprocess.run([sys.executable, "-m", "bertxfer", *words], env=environment, capture_output=True, text=True)
    if ran.returncode:
        raise SystemExit(f"{' '.join(words)}: {ran.stderr}")
    return round(time.monotonic() - started, 2), round(_children() - before, 2)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
