"""Gathers what the benchmarks found into bench.json and docs/benchmark.md.

python bench/page.py FOLDER    (with one JSON file a benchmark)
"""

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

from speed import NAMES, ROOT  # type: ignore[import-not-found]


def main() -> None:
    folder = Path(sys.argv[1])
    found: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    found["machine"] = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version()}
    (ROOT / "bench.json").write_text(json.dumps(found, indent=2) + "\n")
    parts = [HEAD.format(cores=os.cpu_count())]
    parts += [_speed(found[name]) for name in ("speed-minilm", "speed-mini", "speed-mini-short") if name in found]
    parts += [_table(title, found[name][key]) for name, key, title in GROWTH if name in found and key in found[name]]
    (ROOT / "docs" / "benchmark.md").write_text("\n".join(parts))
    print(f"wrote {ROOT / 'bench.json'} and {ROOT / 'docs' / 'benchmark.md'}")


HEAD = """# Benchmark

Gathered by `bench/page.py` from the parts of `make bench`, on a machine with {cores} cores and no GPU.
[speed.md](speed.md) says what is behind the numbers.
A ratio compares ways that took turns in one run on one machine; times say little elsewhere. (a), (b) and (c) run one
process after another, each with a thread on every core; (d) is a sweep with a worker on every core and one thread each.
The peak is that of one process or worker. Mean scores are over the trials that were timed, of which (d) has more seeds.
Scores of the mini model say nothing about English.
"""
GROWTH = (
    ("growth", "rows", "Cost of a trial by training rows (mini model, 2 epochs, 200 dev rows)"),
    (
        "growth",
        "layers",
        "Cost of a trial by layers (untrained models of the mini model's width, 500 rows, 2 epochs, 200 dev rows)",
    ),
    ("growth", "workers", "Trials an hour by workers (mini model, 250 rows, 2 epochs, 200 dev rows, sweeps of 8)"),
    ("store", "rows", "Commands by trials in the store, in seconds"),
    ("load", "rows", "The queue's own cost in ms of CPU a trial: trials that do nothing, many workers at once"),
)


def _speed(found: dict[str, Any]) -> str:
    check = found["check"]
    lines = [
        f"\n## `{' '.join(found['words'])}`\n",
        "| way | trials an hour | seconds a trial | here | peak MB | mean score |",
        "|---|---|---|---|---|---|",
    ]
    for way, name in NAMES.items():
        own = found[way]
        timed = len(own["seconds"])
        together = own["trials"] // timed
        counted = f"{timed} trials" if together == 1 else f"{timed} times {together} trials"
        spread = f"{min(own['seconds']):.1f} to {max(own['seconds']):.1f} ({counted})"
        ratio = "" if way == "d" else f"{own['ratio']:.2f} times as many"
        numbers = f"{own['trials_per_hour']:.0f} | {spread} | {ratio} | {own['peak_memory_mb']:.0f}"
        lines.append(f"| {name} | {numbers} | {own['mean_score']:.3f} |")
    lines.append(
        f"\nmax_length is {found['max_length']}. From the same first weights and batch order, without dropout, after "
        f"{found['check_words']}: "
        f"the logits of (a) and (d) differ by at most {check['largest_difference_of_logits']:.1e}, "
        f"the scores are {check['score_papers_way']:.4f} and {check['score_here']:.4f}.\n"
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
