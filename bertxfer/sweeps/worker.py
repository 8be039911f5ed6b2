"""A worker: what a local process or a SLURM job runs until the sweep is drained.

It imports no torch and lives on when a trial takes its process down: the process that drains the sweep is its child,
and is started again.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import BertxferError
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.attempt import Rules, end_attempt
from bertxfer.sweeps.draining import Taken, drain
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.system import slurm_job
from bertxfer.system.files import write_json
from bertxfer.system.processes import say_at_once, whoami

RELEASED = 75  # exit status of a child that gave its trial back before the sweep was done
REFUSED = 65  # of one that cannot read the sweep; another one could not either
# A child is given up after so many times the silence that loses it its trial: one that is only slow,
# such as one loading a model from a busy disk, is left alone while nobody else wants the trial.
HUNG = 10


@dataclass(frozen=True)
class Post:
    """What a worker is told when it is started."""

    sweep: str  # the sweep's folder
    launch: str
    rules: Rules
    threads: int | None = None
    gpu: str | None = None  # CUDA_VISIBLE_DEVICES; null: as it is
    limit: int | None = None  # how many trials it takes at most


def supervise(post: Post) -> None:
    """Keeps one draining process alive until the sweep is drained or this worker is told to stop."""
    folder = Path(post.sweep)
    card = folder / "workers" / f"{_card_name()}.json"
    card.parent.mkdir(parents=True, exist_ok=True)
    store, stop, lost_without_a_trial = Store(folder.parent.parent), Stop(), 0
    with stop.on_signals():
        while True:
            child = _start_child(post, card)
            status = _wait(child, stop, card, post.rules.stale_seconds)
            if status in (0, RELEASED, REFUSED):
                break
            if _close_attempts(card, status, store):
                lost_without_a_trial = 0
            else:
                lost_without_a_trial += 1
            if stop() or lost_without_a_trial == 3:
                break
    card.unlink(missing_ok=True)
    told_to_stop = status == RELEASED or (stop() and status == -signal.SIGTERM)  # the child was not yet listening
    if told_to_stop and slurm_job.requeue_unless_cancelled():
        say_at_once("near the time limit or preempted: this job is queued again")
    if status == REFUSED:
        raise BertxferError("the worker's process refused the sweep; it has said why")
    if status not in (0, RELEASED) and not stop():
        raise RuntimeError(f"the worker's process ended three times with status {status} before it had a trial")


def main() -> int:
    """The draining child: `python -m bertxfer.sweeps.worker`, its post as JSON on standard input."""
    _end_with_parent()
    orders = json.loads(sys.stdin.read())
    card, supervisor = Path(orders.pop("card")), orders.pop("supervisor")
    post = _post(orders)
    try:
        sweep = manifest.read(Path(post.sweep))
    except BertxferError as error:
        say_at_once(str(error))
        return REFUSED
    runtime = sweep.runtime if sweep.runtime.threads else _with_threads(sweep.runtime, post.threads)
    queue = Queue(sweep.store, post.launch, post.rules)
    stop = Stop()

    def note(taken: Taken) -> None:
        attempts = {trial.id: str(held.path) for trial, held in taken}
        with contextlib.suppress(OSError):
            write_json(card, {"worker": supervisor, "attempts": attempts, "pid": os.getpid()})

    try:
        with stop.on_signals():
            drain(sweep.trials, queue, runtime, stop, say_at_once, note, post.limit)
    except OSError as error:  # the disk is full, or the folder is read-only or away
        say_at_once(f"no trial can be taken: {error}")
        return 1
    return RELEASED if stop() else 0


def _post(plain: dict[str, Any]) -> Post:
    return Post(**{**plain, "rules": Rules(**plain["rules"])})


def _start_child(post: Post, card: Path) -> "subprocess.Popen[str]":
    with contextlib.suppress(OSError):
        write_json(card, {"worker": whoami()})
    environment = dict(os.environ)
    if post.gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = post.gpu
    if post.threads is not None:
        environment["OMP_NUM_THREADS"] = str(post.threads)
    child = subprocess.Popen(
        [sys.executable, "-m", "bertxfer.sweeps.worker"],
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,  # a Ctrl-C in a terminal reaches the supervisor alone, which passes it on once
    )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps({**asdict(post), "card": str(card), "supervisor": whoami()}))
        child.stdin.close()
    return child


def _wait(child: "subprocess.Popen[str]", stop: Stop, card: Path, stale_seconds: float) -> int:
    """Waits for the child, passes on the wish to stop, and shows by touching its card that this worker lives.

    A child that hangs is killed: with no other worker left, nobody else would end its trial. So is one that was told to
    stop and does not: as long as it is there, the next launch counts on this worker.
    """
    every_seconds = min(5.0, stale_seconds / 6)
    told_to_stop, touched = False, 0.0
    beats: list[float] = []  # when the child last touched each of its open attempts
    unheard = unheeded = 0  # counted, not timed: a job that was suspended as a whole has not been silent
    while (status := child.poll()) is None:
        if stop() and not told_to_stop:
            child.send_signal(signal.SIGTERM)
            told_to_stop = True
        if time.monotonic() - touched > every_seconds:
            before, beats = beats, []
            with contextlib.suppress(OSError):  # a disk that is away or read-only says nothing about the child
                os.utime(card)
                beats = [path.stat().st_mtime for path in _open_attempts(card).values()]
            unheard = unheard + 1 if beats and beats == before else 0
            unheeded += told_to_stop
            if max(unheard, unheeded) * every_seconds > HUNG * stale_seconds:
                fault = "was silent" if unheard > unheeded else "did not end"
                say_at_once(f"process {child.pid} {fault} for {HUNG * stale_seconds:g} s: it is killed")
                child.kill()
                unheard = unheeded = 0
            touched = time.monotonic()
        time.sleep(0.05)
    return status


def _close_attempts(card: Path, status: int, store: Store) -> bool:
    """Writes down that the child died in mid-trial; false if it had none."""
    reason = f"its process was ended by signal {-status}" if status < 0 else f"its process ended with status {status}"
    if status == -signal.SIGKILL:
        reason += " (out of memory, perhaps, or it hung)"
    closed = False
    for trial_id, path in _open_attempts(card).items():
        with contextlib.suppress(OSError):
            end_attempt(path, "crashed", reason=reason)
            store.fail_with(trial_id, reason)
            closed = True
    return closed


def _open_attempts(card: Path) -> dict[str, Path]:
    """The attempts of the child that it has not ended, by their trials."""
    still_open = {}
    try:
        attempts: dict[str, str] = json.loads(card.read_text(encoding="utf-8"))["attempts"]
    except (OSError, ValueError, KeyError):
        return {}
    for trial_id, name in attempts.items():
        with contextlib.suppress(OSError, ValueError):
            if json.loads(Path(name).read_text(encoding="utf-8")).get("outcome") is None:
                still_open[trial_id] = Path(name)
    return still_open


def _end_with_parent() -> None:
    """A supervisor that is killed takes its child along: the kernel then sends it SIGTERM."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _with_threads(runtime: Runtime, threads: int | None) -> Runtime:
    return Runtime(**{**asdict(runtime), "threads": threads})


def _card_name() -> str:
    me: dict[str, Any] = whoami()
    return f"{me['slurm_job'] or me['host'].split()[0]}-{me['pid']}"


def start(words: Sequence[str]) -> int:
    """With its post on the command line it is a worker, with it on standard input the draining child of one."""
    if not words:
        return main()
    supervise(_post(json.loads(words[0])))
    return 0


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
