"""Gathers what the benchmarks found into bench.json and docs/benchmark.md.

python bench/page.py FOLDER [ROOT]    (one JSON file per benchmark; where to write, if not into this repository)
"""

import datetime
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from speed import NAMES, SETUPS, spread  # type: ignore[import-not-found]
from spending import CORES, ROOT  # type: ignore[import-not-found]

from bertxfer.system.environment import revision

PACKAGES = ("torch", "transformers", "accelerate")


def main() -> None:
    folder, root = Path(sys.argv[1]), Path(*sys.argv[2:]) if sys.argv[2:] else ROOT
    measured: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    measured["machine"] = machine()
    (root / "bench.json").write_text(json.dumps(measured, indent=2) + "\n")
    parts = [HEAD.format(**measured["machine"])]
    compared = [measured[f"speed-{setup}"] for setup in SETUPS if f"speed-{setup}" in measured]
    parts += [_ratios(compared)] if compared else []
    parts += [_speed(one) for one in compared]
    parts += [
        _table(title, measured[name][key]) for name, key, title in GROWTH if name in measured and key in measured[name]
    ]
    (root / "docs" / "benchmark.md").write_text("\n".join(parts))
    print(f"wrote {root / 'bench.json'} and {root / 'docs' / 'benchmark.md'}")


def machine() -> dict[str, Any]:
    cpus = [line.partition(": ")[2] for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    return {
        "date": datetime.date.today().isoformat(),
        "revision": (revision()[0] or "unknown")[:10],
        "cores": CORES,
        "cpu": cpus[0] if cpus else platform.machine(),
        "versions": f"Python {platform.python_version()}, {versions}",
    }


HEAD = """# Benchmark

Written by `make bench` on {date}, at revision {revision}, on the CPU of a machine with {cores} cores ({cpu});
{versions}. [speed.md](speed.md) says what is behind the numbers.

A ratio compares ways that took turns in one run; absolute times do not carry over to other machines. (c) with a process
on every core is how a machine's owner would have the Trainer do most, so its ratio comes first. (a), (b) and the other
(c) run one process after another, each with a thread on every core; (d) is a sweep with a worker on every core, with
one thread each. The start of every process is part of its time. The peak is that of one process or worker, and (d) has
as many workers as cores. Seconds of CPU are those of all processes together.

All ways have the same rows, first weights, batch size, learning rate, schedule and dev set. How often each was
evaluated was counted: the papers' code does it once, after the last epoch, and so does the Trainer by default. They
pool the first token, as `BertForSequenceClassification` does, which lets (d) skip most of the last layer. (a) and (d)
have the same order of batches, (b) and (c) the Trainer's. Mean scores are over the trials that were timed, as many as
the time of a benchmark allows. The texts are short; the longer texts are beside max_length, the less (a) wastes.
Scores of the mini model say nothing about English.
"""
SHORT = {
    "c2": "(c) on every core at once",
    "c": "(c) grouped Trainer",
    "b": "(b) Trainer",
    "a": "(a) the papers' way",
    "d": "(d) here",
}
GROWTH = (
    ("growth", "rows", "Cost of a trial by training rows (mini model, 2 epochs, 200 dev rows)"),
    (
        "growth",
        "layers",
        "Cost of a trial by layers (untrained models of the mini model's width, 500 rows, 2 epochs, 200 dev rows)",
    ),
    (
        "growth",
        "workers",
        "Trials an hour by workers (mini model, 250 rows, 2 epochs, 200 dev rows, sweeps of 8, their start included)",
    ),
    ("store", "rows", "Commands by trials in the store, in seconds"),
    ("load", "rows", "The queue's own cost in ms of CPU a trial: trials that do nothing, many workers at once"),
)


def _ratios(compared: list[dict[str, Any]]) -> str:
    """How many times as many trials an hour are done here as in each way, the best of which comes first."""
    lines = [
        "\n## How many times as many trials an hour are done here\n",
        "| | the best other way | its ratio | each of the others |",
        "|---|---|---|---|",
    ]
    for one in compared:
        ratios = {way: told["ratio"] for way, told in one["ways"].items() if way != "d"}
        best = min(ratios, key=lambda way: ratios[way])
        others = ", ".join(f"{SHORT[way]} {ratios[way]:.2f}" for way in NAMES if way in ratios and way != best)
        lines.append(f"| `{one['words']}` | {SHORT[best]} | {ratios[best]:.2f} | {others} |")
    return "\n".join([*lines, ""])


def _speed(measured: dict[str, Any]) -> str:
    check, ways = measured["check"], measured["ways"]
    lines = [
        f"\n## `{measured['words']}`\n",
        "| way | (d) does | trials an hour | seconds a trial | CPU seconds | evaluations | peak MB | mean score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for way in (way for way in NAMES if way in ways):
        told = ways[way]
        ratio = "" if way == "d" else f"{told['ratio']:.2f} times as many"
        clock = f"{told['trials_per_hour']:.0f} | {spread(told)} | {told['cpu_seconds']:.1f}"
        rest = f"{told['evaluations']} | {told['peak_memory_mb']:.0f} | {told['mean_score']:.3f}"
        lines.append(f"| {NAMES[way]} | {ratio} | {clock} | {rest} |")
    left_out = ", ".join(SHORT[way] for way in NAMES if way not in ways)
    lines.append(
        f"\nmax_length is {measured['max_length']}. From the same first weights and batch order, without dropout, with "
        f"`{measured['check_words']}`: "
        f"the logits of (a) and (d) differ by at most {check['largest_difference_of_logits']:.1e}, "
        f"the scores are {check['score_papers_way']:.4f} and {check['score_here']:.4f}."
        + (f" Not timed here, because they take too long: {left_out}." if left_out else "")
        + "\n"
    )
    return "\n".join(lines)


def _table(title: str, rows: list[dict[str, Any]]) -> str:
    names = list(rows[0])
    lines = [
        f"\n## {title}\n",
        f"| {' | '.join(name.replace('_', ' ') for name in names)} |",
        "|---" * len(names) + "|",
    ]
    lines += [f"| {' | '.join(_cell(row[name]) for name in names)} |" for row in rows]
    return "\n".join([*lines, ""])


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


if __name__ == "__main__":
    main()
