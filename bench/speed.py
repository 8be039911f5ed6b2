"""The same trials in the ways people run them today and here, side by side in one run.

    python bench/speed.py [--model minilm|mini|mini-short] [--rounds 2] [--trials 2] [--sweep 8] [--json FILE]

Prints trials an hour of each way, the ratios, and the peak memory of a process. A round runs `trials` trials of each of
the ways of bench/ways.py, one process after the other with torch's own number of threads, the best of these ways again
with a process on every core, and one sweep of `sweep` trials here; process starts are part of every time. Rounds take
turns, so that the noise of the machine shows. All run on the CPU.
Before that, one short trial without dropout is run the papers' way and here from the same weights and batch order;
nothing is timed if their logits differ by more than rounding.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))
WAYS = {"a": "paper", "b": "trainer", "c": "grouped", "c2": "grouped"}
NAMES = {
    "a": "(a) as the papers' code: one process per trial, padded to max_length, evaluation in batches of 8",
    "b": "(b) Hugging Face Trainer: one process per trial, padded to the longest, default evaluation",
    "c": "(c) Trainer, rows of like length together, evaluation in batches of 64",
    "c2": "(c) with a process on every core at once, one thread each",
    "d": "(d) here",
}
TOGETHER = {"c2"}  # ways whose trials run at once
TASKS = {
    "minilm": ["model=minilm", "model.pooling=cls", "task=sst2", "data.n=500", "training.epochs=5"],
    "mini": ["model=mini", "model.pooling=cls", "task=mini_sst2", "data.n=500", "training.epochs=5"],
    "mini-short": ["model=mini", "model.pooling=cls", "task=mini_sst2", "data.n=100", "training.epochs=2"],
}
CORES = len(os.sched_getaffinity(0))
ROUNDING = 1e-4  # of logits, after the steps of CHECK
CHECK = ["data.n=96", "training.epochs=2", "data.dev_n=200", "model.dropout=0", "optimizer.lr=3e-4"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=TASKS, default="minilm")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--trials", type=int, default=2)
    parser.add_argument("--sweep", type=int, default=8)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    from bertxfer.errors import BertxferError

    with tempfile.TemporaryDirectory(prefix="bertxfer-speed-") as scratch:
        try:
            compared = compare(arguments.model, arguments.rounds, arguments.trials, arguments.sweep, Path(scratch))
        except BertxferError as error:  # most likely the data are not there
            raise SystemExit(str(error)) from error
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(compared, indent=2) + "\n")


def compare(model: str, rounds: int, trials: int, sweep: int, scratch: Path) -> dict[str, Any]:
    words = TASKS[model]
    compared: dict[str, Any] = {"words": words, "check": check(words, scratch), "check_words": " ".join(CHECK)}
    compared["max_length"] = json.loads(describe(words, 0, scratch).read_text())["max_length"]
    print(f"{' '.join(words)}; without dropout {compared['check']}", flush=True)
    seconds: dict[str, list[float]] = {way: [] for way in NAMES}  # per trial, one value for each process or sweep
    memory: dict[str, float] = dict.fromkeys(NAMES, 0.0)
    scores: dict[str, list[float]] = {way: [] for way in NAMES}
    for number in range(rounds):
        for way, name in WAYS.items():
            count = CORES if way in TOGETHER else trials
            commands = [
                [sys.executable, "bench/ways.py", name, str(describe(words, seed, scratch))]
                for seed in range(number * count, (number + 1) * count)
            ]
            if way in TOGETHER:
                started = time.monotonic()
                with ThreadPoolExecutor(CORES) as pool:
                    ended = list(pool.map(partial(process, threads=1), commands))
                seconds[way].append((time.monotonic() - started) / count)
            else:
                ended = [process(command) for command in commands]
                seconds[way] += [took for took, _ in ended]
            outcomes = [json.loads(printed) for _, printed in ended]
            memory[way] = max(memory[way], *(one["peak_memory_mb"] for one in outcomes))
            scores[way] += [one["score"] for one in outcomes]
            each = ", ".join(f"{took:.1f}" for took, _ in ended)
            print(f"  ({way}) {each} s, {memory[way]:.0f} MB, mean score {mean(scores[way]):.3f}", flush=True)
        took, results = ours([*words, f"seed={number * sweep}..{(number + 1) * sweep - 1}"], scratch / f"here{number}")
        seconds["d"].append(took / len(results))
        memory["d"] = max(memory["d"], *(result["peak_memory_mb"] for result in results))
        scores["d"] += [result["score"] for result in results]
        print(f"  (d) {len(results)} trials: {took:.1f} s, {seconds['d'][-1]:.1f} s a trial, {memory['d']:.0f} MB")
    seconds_here = mean(seconds["d"])
    for way, name in NAMES.items():
        per_trial = seconds[way]
        compared[way] = {
            "trials_per_hour": 3600 / mean(per_trial),
            "seconds": per_trial,
            "peak_memory_mb": memory[way],
            "trials": len(scores[way]),
            "mean_score": mean(scores[way]),
            "ratio": mean(per_trial) / seconds_here,
        }
        spread = f"{min(per_trial):.1f} to {max(per_trial):.1f} s a trial"
        print(
            f"{name}\n    {3600 / mean(per_trial):.0f} trials an hour ({spread}), {memory[way]:.0f} MB, "
            f"mean score {mean(scores[way]):.3f}"
            + ("" if way == "d" else f"; here {mean(per_trial) / seconds_here:.1f} times that")
        )
    return compared


def check(words: list[str], scratch: Path) -> dict[str, float]:
    """The largest difference between logits, and both scores, of one trial without dropout."""
    import pyarrow.parquet

    description = describe([*words, *CHECK], 0, scratch)
    _, printed = process([sys.executable, "bench/ways.py", "paper", str(description)])
    theirs = json.loads(printed)
    _, (result,) = ours([*words, *CHECK, "seed=0"], scratch / "check")
    table = pyarrow.parquet.read_table(scratch / "check" / "trials" / result["id"] / "predictions.parquet").to_pydict()
    logits = zip(table["logit_0"], table["logit_1"], strict=True)
    pairs = zip(theirs["logits"], logits, strict=True)
    largest = max(abs(x - y) for row, our_row in pairs for x, y in zip(row, our_row, strict=True))
    if largest > ROUNDING:
        raise SystemExit(f"the logits of the papers' way and ours differ by {largest:.1e}: they are not the same trial")
    return {"largest_difference_of_logits": largest, "score_papers_way": theirs["score"], "score_here": result["score"]}


def describe(words: list[str], seed: int, scratch: Path) -> Path:
    """A trial as bench/ways.py reads it: the rows, the order and the first weights that it has here."""
    from safetensors.torch import save_file

    from bertxfer.config.composer import Composer
    from bertxfer.config.schema import conf_dir
    from bertxfer.learning import data, heads, start
    from bertxfer.learning.run import load_data
    from bertxfer.store.store import Store
    from bertxfer.sweeps.sweep import sweep_of

    overrides = [*words, f"seed={seed}", f"runtime.output_dir={scratch / 'tokens'}"]
    one = sweep_of(overrides, Composer(conf_dir())).points[0].trial
    science, store = one.science, Store(scratch / "tokens")
    rows = dict(zip(("train", "dev"), load_data(one, store), strict=True))
    model = heads.HeadedModel(start.start(one, store.artifacts).encoder, science)
    folder = scratch / f"seed{seed}"
    folder.mkdir(exist_ok=True)
    names = {"classifier.": "classifier.", "pooler.": "bert.pooler.", "encoder.": "bert."}
    save_file(
        {new + name.removeprefix(old): t for name, t in model.state_dict().items() for old, new in names.items()
         if name.startswith(old)},
        folder / "first.safetensors",
    )  # fmt: skip
    described = {
        "model": one.model_at,
        "weights": str(folder / "first.safetensors"),
        "scratch": str(folder / "trainer"),
        "seed": seed,
        "dropout": science.model.dropout,
        "lr": science.optimizer.lr,
        "epochs": science.training.epochs,
        "batch_size": science.training.batch_size,
        "max_length": science.data.max_length,
        "orders": [data.epoch_order(len(rows["train"]), seed, epoch) for epoch in range(science.training.epochs)],
    }
    for split, dataset in rows.items():
        assert dataset.rows is not None
        described[split] = {"texts": list(zip(*dataset.rows.texts, strict=True)), "labels": dataset.labels}
    path = folder / "trial.json"
    path.write_text(json.dumps(described))
    return path


def ours(words: list[str], folder: Path) -> tuple[float, list[dict[str, Any]]]:
    """The seconds of a sweep from the command line, start to end, and its results."""
    where = ["runtime.device=cpu", f"runtime.output_dir={folder}"]
    took, _ = process([sys.executable, "-m", "bertxfer", "-m", *words, *where])
    return took, [json.loads(path.read_text()) for path in sorted((folder / "trials").glob("*/result.json"))]


def process(command: list[str], threads: int | None = None) -> tuple[float, str]:
    """Its seconds, and what it printed."""
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    if threads is not None:
        environment["OMP_NUM_THREADS"] = str(threads)
    started = time.monotonic()
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    took = time.monotonic() - started
    if ended.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
    return took, ended.stdout


if __name__ == "__main__":
    main()
