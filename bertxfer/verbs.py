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
    from bertxfer.queue import Rules
    from bertxfer.status import latest_launch
    from bertxfer.worker import Post, supervise

    parser = _parser("worker", "Joins a sweep: takes its unfinished trials until none is left.")
    parser.add_argument("sweep")
    parser.add_argument("--threads", type=int, default=1, help="CPU threads (1)")
    parser.add_argument("--trials", type=int, default=None, help="end after so many trials")
    parser.add_argument("--stale-seconds", type=float, default=Rules.stale_seconds)
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    launch = latest_launch(sweep.folder) or new_launch(sweep, "joined")
    supervise(Post(str(sweep.folder), launch, Rules(told.stale_seconds), told.threads, limit=told.trials))
    return 0


def cancel(words: Sequence[str]) -> int:
    from bertxfer import manifest
    from bertxfer.launchers.local import end_workers
    from bertxfer.launchers.slurm import cancel_jobs

    parser = _parser("cancel", "Ends the workers of a sweep, and only those; what they do is given back.")
    parser.add_argument("sweep")
    told = parser.parse_args(words)
    sweep = manifest.read(manifest.find(told.output_dir, told.sweep))
    ended = [*cancel_jobs(sweep), *end_workers(sweep)]
    print(f"{sweep.name}: {len(ended)} workers told to end{': ' + ', '.join(ended) if ended else ''}")
    return 0


VERBS: dict[str, Callable[[Sequence[str]], int]] = {"status": status, "worker": worker, "cancel": cancel}
