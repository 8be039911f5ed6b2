"""The same trials in the ways people run them today and here, side by side in one run.

    python bench/speed.py [--setup minilm-sst2|minilm-qnli|mini|smallest] [--rounds 2] [--json FILE]

Prints trials an hour of each way, how many times as many are done here, seconds of CPU, and the peak memory of a
process. Every way evaluates once, after the last epoch. In a round each way of bench/ways.py runs as many trials as
its setup says, and here one sweep runs; (c) with a process on every core at once is the rival that counts, and the
sweep comes right after it. The other ways run one process after the other with torch's own number of threads. Process
starts are part of every time. Rounds take turns, so that the noise of the machine shows. All run on the CPU.
Before that, one short trial without dropout is run the papers' way and here from the same weights and batch order;
nothing is timed if their logits differ by more than rounding.
"""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from spending import CORES, ROOT, bertxfer, printed, printed_at_once, spending  # type: ignore[import-not-found]

sys.path.insert(0, str(ROOT))
# In the order in which people are told of them: the best rival first.
NAMES = {
    "c2": "(c) with a process on every core at once, one thread each",
    "c": "(c) Trainer, rows of like length together, evaluation in batches of 64",
    "b": "(b) Hugging Face Trainer: one process per trial, padded to the longest, default evaluation",
    "a": "(a) as the papers' code: one process per trial, padded to max_length, evaluation in batches of 8",
    "d": "(d) here",
}
WAYS = {"c2": "grouped", "c": "grouped", "b": "trainer", "a": "paper"}
TOGETHER = {"c2"}  # ways whose trials run at once
TURNS = ("c2", "d", "c", "b", "a")  # within a round


@dataclass(frozen=True)
class Setup:
    """What is compared. The slowest ways run least often, or not at all, so that `make bench` takes an hour."""

    words: str
    per_core: int  # trials of the sweep of a round, for each core
    # How often each of the other ways runs in each round: one trial, or one on every core at once.
    runs: dict[str, tuple[int, ...]]


SETUPS = {
    "minilm-sst2": Setup(
        "model=minilm model.pooling=cls task=sst2 data.n=500 training.epochs=5",
        per_core=3,
        runs={"c2": (1, 1), "c": (1, 1), "b": (1, 1), "a": (1, 0)},
    ),
    "minilm-qnli": Setup(
        "model=minilm model.pooling=cls task=qnli data.n=500 training.epochs=5",
        per_core=2,
        runs={"c2": (1, 1), "c": (1, 0)},
    ),
    "mini": Setup(
        "model=mini model.pooling=cls task=mini_sst2 data.n=500 training.epochs=5",
        per_core=8,
        runs={"c2": (2, 2), "c": (2, 2), "b": (2, 2), "a": (1, 0)},
    ),
    "smallest": Setup(  # for tests
        "model=mini model.pooling=cls task=mini_qnli data.n=24 training.epochs=2 data.dev_n=40",
        per_core=1,
        runs={"c2": (1,), "c": (1,), "b": (1,), "a": (1,)},
    ),
}
ROUNDING = 1e-4  # of logits, after the steps of CHECK
CHECK = ["data.n=96", "training.epochs=2", "data.dev_n=200", "model.dropout=0", "optimizer.lr=3e-4"]


@dataclass
class Measured:
    """One way, over all rounds."""

    seconds: list[float] = field(default_factory=list)  # a trial, of each process or of trials that ran at once
    cpu: list[float] = field(default_factory=list)  # the same in seconds of CPU
    outcomes: list[dict[str, Any]] = field(default_factory=list)  # of each trial

    def add(self, wall: float, cpu: float, outcomes: list[dict[str, Any]]) -> None:
        self.seconds.append(wall / len(outcomes))
        self.cpu.append(cpu / len(outcomes))
        self.outcomes += outcomes

    def as_dict(self) -> dict[str, Any]:
        return {
            "trials_per_hour": 3600 / mean(self.seconds),
            "seconds": self.seconds,
            "cpu_seconds": mean(self.cpu),
            "peak_memory_mb": max(one["peak_memory_mb"] for one in self.outcomes),
            "trials": len(self.outcomes),
            "evaluations": max(one["evaluations"] for one in self.outcomes),
            "mean_score": mean(one["score"] for one in self.outcomes),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--setup", choices=SETUPS, default="minilm-sst2")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    from bertxfer.errors import BertxferError

    with tempfile.TemporaryDirectory(prefix="bertxfer-speed-") as scratch:
        try:
            compared = compare(SETUPS[arguments.setup], arguments.rounds, Path(scratch))
        except BertxferError as error:  # most likely the data are not there
            raise SystemExit(str(error)) from error
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(compared, indent=2) + "\n")


def compare(setup: Setup, rounds: int, scratch: Path) -> dict[str, Any]:
    words = setup.words.split()
    compared: dict[str, Any] = {"words": setup.words, "check": check(words, scratch), "check_words": " ".join(CHECK)}
    compared["max_length"] = json.loads(describe(words, 0, scratch).read_text())["max_length"]
    print(f"{setup.words}; without dropout {compared['check']}", flush=True)
    ways = {way: Measured() for way in NAMES if way == "d" or way in setup.runs}
    for number in range(rounds):
        for way in (way for way in TURNS if way in ways):
            for _ in range(1 if way == "d" else dict(enumerate(setup.runs[way])).get(number, 0)):
                if way == "d":
                    here(words, number, setup.per_core * CORES, ways[way], scratch)
                else:
                    theirs(words, way, ways[way], scratch)
                took, cpu = ways[way].seconds[-1], ways[way].cpu[-1]
                print(f"  round {number + 1} ({way}): {took:.1f} s a trial, {cpu:.1f} s of CPU", flush=True)
    compared["ways"] = {way: measured.as_dict() for way, measured in ways.items() if measured.seconds}
    for way, told in compared["ways"].items():
        told["ratio"] = mean(ways[way].seconds) / mean(ways["d"].seconds)
        print(f"{NAMES[way]}\n    {sentence(told)}" + ("" if way == "d" else f"; here {told['ratio']:.2f} times that"))
    return compared


def sentence(told: dict[str, Any]) -> str:
    return (
        f"{told['trials_per_hour']:.0f} trials an hour ({spread(told)}), {told['cpu_seconds']:.1f} s of CPU a trial, "
        f"evaluated {told['evaluations']} times, peak {told['peak_memory_mb']:.0f} MB, "
        f"mean score {told['mean_score']:.3f}"
    )


def spread(told: dict[str, Any]) -> str:
    """Seconds a trial: of how many, and between which."""
    least, most, runs = min(told["seconds"]), max(told["seconds"]), len(told["seconds"])
    together = told["trials"] // runs
    counted = f"{runs} trials" if together == 1 else f"{runs} times {together} trials"
    return f"{least:.1f} (one trial)" if told["trials"] == 1 else f"{least:.1f} to {most:.1f} ({counted})"


def theirs(words: list[str], way: str, measured: Measured, scratch: Path) -> None:
    """Another way once, with the next seeds."""
    count = CORES if way in TOGETHER else 1
    done = len(measured.outcomes)
    commands = [
        [sys.executable, "bench/ways.py", WAYS[way], str(describe(words, seed, scratch))]
        for seed in range(done, done + count)
    ]
    with spending() as spent:
        told = printed_at_once(commands) if way in TOGETHER else [printed(command) for command in commands]
    measured.add(spent.wall, spent.cpu, [json.loads(one) for one in told])


def here(words: list[str], number: int, count: int, measured: Measured, scratch: Path) -> None:
    """A sweep of a round, with seeds of its own."""
    with spending() as spent:
        results = ours([*words, f"seed={number * count}..{(number + 1) * count - 1}"], scratch / f"here{number}")
    measured.add(spent.wall, spent.cpu, results)


def check(words: list[str], scratch: Path) -> dict[str, float]:
    """The largest difference between logits, and both scores, of one trial without dropout."""
    import pyarrow.parquet

    description = describe([*words, *CHECK], 0, scratch)
    papers = json.loads(printed([sys.executable, "bench/ways.py", "paper", str(description)]))
    (result,) = ours([*words, *CHECK, "seed=0"], scratch / "check")
    table = pyarrow.parquet.read_table(scratch / "check" / "trials" / result["id"] / "predictions.parquet").to_pydict()
    logits = zip(table["logit_0"], table["logit_1"], strict=True)
    pairs = zip(papers["logits"], logits, strict=True)
    largest = max(abs(x - y) for row, our_row in pairs for x, y in zip(row, our_row, strict=True))
    if largest > ROUNDING:
        raise SystemExit(f"the logits of the papers' way and ours differ by {largest:.1e}: they are not the same trial")
    return {"largest_difference_of_logits": largest, "score_papers_way": papers["score"], "score_here": result["score"]}


def describe(words: list[str], seed: int, scratch: Path) -> Path:
    """A trial as bench/ways.py reads it: the rows, the order and the first weights that it has here."""
    from safetensors.torch import save_file

    from bertxfer.config.composer import Composer
    from bertxfer.config.schema import conf_dir
    from bertxfer.learning import data, heads, start
    from bertxfer.learning.run import load_data
    from bertxfer.store.store import Store
    from bertxfer.sweeps.wanted import sweep_of

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


def ours(words: list[str], folder: Path) -> list[dict[str, Any]]:
    """The results of a sweep from the command line, and how often each trial was evaluated."""
    bertxfer("-m", *words, "runtime.device=cpu", f"runtime.output_dir={folder}")
    results = []
    for path in sorted((folder / "trials").glob("*/result.json")):
        result = json.loads(path.read_text())
        lines = [json.loads(line) for line in (path.parent / "history.jsonl").read_text().splitlines()]
        result["evaluations"] = sum(not result["metrics"].keys().isdisjoint(line) for line in lines)
        results.append(result)
    return results


if __name__ == "__main__":
    main()
