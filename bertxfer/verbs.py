"""The verbs of the command line: each small, each about sweeps that are on disk."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path


def _parser(verb: str, promise: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"bertxfer {verb}", description=promise)
    default = os.environ.get("BERTXFER_OUTPUT", "multirun_outputs")
    parser.add_argument("--output-dir", type=Path, default=Path(default), help=f"the results folder ({default})")
    return parser


def status(words: Sequence[str]) -> int:
    from bertxfer.status import show

    parser = _parser("status", "Shows every sweep, or one sweep trial by trial, or everything about one trial.")
    parser.add_argument("name", nargs="?", help="a sweep (the beginning of its name is enough) or a trial's id")
    told = parser.parse_args(words)
    show(told.output_dir, told.name)
    return 0


def worker(words: Sequence[str]) -> int:
    from bertxfer import manifest
    from bertxfer.launchers.base import new_launch
    from bertxfer.queue import Queue, Rules
    from bertxfer.status import Watch, counts_line, latest_launch
    from bertxfer.worker import Post, supervise

    parser = _parser("worker", "Joins a sweep: takes its unfinished trials until none is left.")
    parser.add_argument("sweep")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (1)")
    parser.add_argument("--trials", type=int, default=None, help="end after so many trials")
    parser.add_argument("--stale-seconds", type=float, default=Rules.stale_seconds)
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    launch = latest_launch(sweep.folder) or new_launch(sweep, "joined")
    rules = Rules(told.stale_seconds)
    supervise(Post(str(sweep.folder), launch, rules, told.threads, limit=told.trials))
    counts = Watch(sweep, Queue(sweep.store, launch, rules)).look()
    print(counts_line(counts, len(sweep.trials)))
    return 1 if counts["failed"] else 0


def cancel(words: Sequence[str]) -> int:
    from bertxfer import manifest
    from bertxfer.launchers.base import mark_cancelled
    from bertxfer.launchers.local import end_workers
    from bertxfer.launchers.slurm import cancel_jobs

    parser = _parser("cancel", "Ends the workers of a sweep, and only those; what they do is given back.")
    parser.add_argument("sweep")
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    mark_cancelled(sweep)
    ended = [*cancel_jobs(sweep), *end_workers(sweep)]
    print(f"{sweep.name}: {len(ended)} workers told to end{': ' + ', '.join(ended) if ended else ''}")
    return 0


def experiments(words: Sequence[str]) -> int:
    from rich.console import Console
    from rich.table import Table

    from bertxfer import command
    from bertxfer.experiments import presets
    from bertxfer.store import Store

    parser = _parser("experiments", "Lists the presets: how many trials each asks for, and how many of them are done.")
    parser.add_argument("words", nargs="*", metavar="key=value", help="as for a run: model=mini scale=tiny")
    told = parser.parse_args(words)
    table = Table("experiment", "trials", "done", "what")
    for preset in presets(command.in_order(told.words), Store(told.output_dir)):
        counts = ("?", "?") if preset.problem else (str(preset.trials), str(preset.done))
        table.add_row(preset.name, *counts, preset.problem or preset.description)
    Console().print(table)
    return 0


def export(words: Sequence[str]) -> int:
    from bertxfer.report import results
    from bertxfer.store import Store

    parser = _parser(
        "export", "Writes every stored trial as a row of one flat file, for pandas, duckdb or a spreadsheet."
    )
    parser.add_argument("file", type=Path, help="NAME.parquet or NAME.csv")
    told = parser.parse_args(words)
    table, refused = results.export(told.file, Store(told.output_dir))
    for sentence in refused:
        print(f"left out  {sentence}", file=sys.stderr)
    left = f", {len(refused)} left out" if refused else ""
    print(f"{told.file}: {len(table)} trials, {int((table['state'] == 'done').sum())} of them done{left}")
    return 1 if refused else 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "status": status,
    "worker": worker,
    "cancel": cancel,
    "experiments": experiments,
    "export": export,
}
