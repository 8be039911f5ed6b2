"""The verbs of the command line: each small, each about sweeps that are on disk."""

import argparse
import os
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


def report(words: Sequence[str]) -> int:
    from bertxfer.report import page, subject

    parser = _parser("report", "Writes figures, tables and one HTML page of an experiment, or of a sweep by its name.")
    parser.add_argument(
        "words", nargs="*", metavar="sweep | key=value", help="a sweep (the last one), or a run's words"
    )
    parser.add_argument("-m", "--multirun", action="store_true", help="as for a run; changes nothing here")
    parser.add_argument("-cd", "--config-dir", action="append", default=[], help="one more folder of configs")
    default = parser.get_default("output_dir")
    parser.set_defaults(output_dir=None)
    told = parser.parse_intermixed_args(words)
    named = len(told.words) == 1 and "=" not in told.words[0]
    if named or not told.words:
        about = subject.of_sweep((told.output_dir or default).absolute(), *(told.words or [None]))
    else:
        about = subject.of_words(told.words, told.output_dir, told.config_dir)
    print(f"report in {page.write(about)}")
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {
    "status": status,
    "worker": worker,
    "cancel": cancel,
    "report": report,
}
