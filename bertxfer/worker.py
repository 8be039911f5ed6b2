"""A worker: takes the next unfinished trial, runs it, records it, goes on; and gives it back when it must stop.

`supervise` is what a local process or a SLURM job runs. It imports no torch and lives on when a trial takes its
process down: the process that drains the sweep is its child, and is started again.
"""

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import FrameType
from typing import Any

from bertxfer import manifest, slurm, summary
from bertxfer.config import Runtime
from bertxfer.errors import Interrupted
from bertxfer.files import write_json
from bertxfer.identity import Trial
from bertxfer.queue import Claim, Queue, Rules, end_attempt, whoami
from bertxfer.store import Store

RELEASED = 75  # exit status of a child that gave its trial back before the sweep was done


@dataclass(frozen=True)
class Post:
    """What a worker is told when it is started."""

    sweep: str  # the sweep's folder
    launch: str
    rules: Rules
    threads: int | None = None
    gpu: str | None = None  # CUDA_VISIBLE_DEVICES; null: as it is
    limit: int | None = None  # how many trials it takes at most


class Stop:
    """Asked for by SIGTERM (preemption, cancelling) or Ctrl-C, or due because SLURM's time limit is near."""

    def __init__(self) -> None:
        self.asked = False
        self.warned = False
        self.deadline = slurm.deadline()

    def __call__(self) -> bool:
        return self.asked or self.time_is_up()

    def time_is_up(self) -> bool:
        # SLURM may send its warning up to a minute early, so where the end is known, that decides.
        return self.warned if self.deadline is None else time.time() > self.deadline

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
        before = {number: signal.signal(number, self._receive) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            self.warned = True
        elif not self.asked:
            _say(f"told to stop by {signal.Signals(number).name}")
            self.asked = True
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C does not wait for a checkpoint


def drain(
    trials: Sequence[Trial],
    queue: Queue,
    runtime: Runtime,
    stop: Stop,
    say: Callable[[str], None] = print,
    on_claim: Callable[[Trial, Claim], None] = lambda trial, claim: None,
    limit: int | None = None,
) -> int:
    """Runs what is unfinished and nobody else runs, until nothing is left to take; returns how many it ran."""
    ran, pending = 0, list(trials)
    while pending and not stop() and ran != limit:
        left = []
        for trial in pending:
            if stop() or ran == limit:
                break
            if queue.situation(trial.id).state == "waiting":
                import bertxfer.trial  # noqa: F401  torch takes seconds to import, in which no trial should be held
            claim = queue.claim(trial.id)
            if claim is not None:
                on_claim(trial, claim)
                ran += run_claimed(trial, claim, queue.store, runtime, stop, say)
            if queue.situation(trial.id).state not in ("done", "failed"):
                left.append(trial)
        # What others run is left to them, unless one of them has fallen silent: that trial may soon be free.
        silent = [t for t in left if _silent(queue, t)]
        if left and not silent:
            pending = [t for t in left if queue.situation(t.id).state == "waiting"]
        else:
            pending = left
            if pending and not stop():
                time.sleep(min(1.0, queue.rules.stale_seconds / 10))
    return ran


def run_claimed(
    trial: Trial, claim: Claim, store: Store, runtime: Runtime, stop: Stop, say: Callable[[str], None]
) -> bool:
    """One attempt at a trial; whatever happens, it is written down how it ended. True if it ended in a result."""
    outcome, details = "released", {}
    try:
        from bertxfer.trial import run

        result = run(trial, store, runtime, stop, claim.superseded)
        outcome = "done"
    except Interrupted as interruption:
        details = {"steps": interruption.steps, "time_was_up": stop.time_is_up()}
        if details["time_was_up"] and not interruption.steps:
            store.fail_with(trial.id, "the time limit came before the first step; raise hydra.launcher.time")
        say(f"given back  {trial.id} at step {interruption.at}")
    except Exception as error:
        if not claim.superseded():  # else another worker has taken it over, and what is in its way is not a failure
            outcome = "failed"
            store.fail(trial, error)
            say(f"failed  {trial.id}: {store.why_failed(trial.id)}")
    finally:
        claim.end(outcome, **details)
    if outcome == "done":
        say(summary.line(result, "done"))
    return outcome == "done"


def supervise(post: Post) -> None:
    """Keeps one draining process alive until the sweep is drained or this worker is told to stop."""
    folder = Path(post.sweep)
    card = folder / "workers" / f"{_card_name()}.json"
    card.parent.mkdir(parents=True, exist_ok=True)
    store, stop, lost_without_a_trial = Store(folder.parent.parent), Stop(), 0
    with stop.on_signals():
        while True:
            child = _start_child(post, card)
            status = _wait(child, stop, card)
            if status in (0, RELEASED):
                break
            if _close_attempt(card, status, store):
                lost_without_a_trial = 0
            else:
                lost_without_a_trial += 1
            if stop() or lost_without_a_trial == 3:
                break
    card.unlink(missing_ok=True)
    told_to_stop = status == RELEASED or (stop() and status == -signal.SIGTERM)  # the child was not yet listening
    if told_to_stop and slurm.requeue_unless_cancelled():
        _say("near the time limit or preempted: this job is queued again")
    if status not in (0, RELEASED) and not stop():
        raise RuntimeError(f"the worker's process ended three times with status {status} before it had a trial")


def main() -> int:
    """The draining child: `python -m bertxfer.worker`, its post as JSON on standard input."""
    _end_with_parent()
    told = json.loads(sys.stdin.read())
    card, supervisor = Path(told.pop("card")), told.pop("supervisor")
    post = Post(**{**told, "rules": Rules(**told["rules"])})
    sweep = manifest.read(Path(post.sweep))
    runtime = sweep.runtime if sweep.runtime.threads else _with_threads(sweep.runtime, post.threads)
    queue = Queue(sweep.store, post.launch, post.rules)
    stop = Stop()

    def note(trial: Trial, claim: Claim) -> None:
        write_json(card, {"worker": supervisor, "trial": trial.id, "attempt": str(claim.path), "pid": os.getpid()})

    with stop.on_signals():
        drain(sweep.trials, queue, runtime, stop, _say, note, post.limit)
    return RELEASED if stop() else 0


def _start_child(post: Post, card: Path) -> "subprocess.Popen[str]":
    write_json(card, {"worker": whoami()})
    environment = dict(os.environ)
    if post.gpu is not None:
        environment["CUDA_VISIBLE_DEVICES"] = post.gpu
    if post.threads is not None:
        environment["OMP_NUM_THREADS"] = str(post.threads)
    child = subprocess.Popen(
        [sys.executable, "-m", "bertxfer.worker"],
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


def _wait(child: "subprocess.Popen[str]", stop: Stop, card: Path) -> int:
    """Waits for the child, passes on the wish to stop, and shows by touching its card that this worker lives."""
    told, touched = False, 0.0
    while (status := child.poll()) is None:
        if stop() and not told:
            child.send_signal(signal.SIGTERM)
            told = True
        if time.monotonic() - touched > 5:
            with contextlib.suppress(OSError):
                os.utime(card)
            touched = time.monotonic()
        time.sleep(0.05)
    return status


def _close_attempt(card: Path, status: int, store: Store) -> bool:
    """Writes down that the child died in mid-trial; false if it had none."""
    try:
        told = json.loads(card.read_text(encoding="utf-8"))
        path = Path(told["attempt"])
        attempt = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        return False
    if attempt.get("outcome") is not None:
        return False
    reason = f"its process was ended by signal {-status}" if status < 0 else f"its process ended with status {status}"
    if status == -signal.SIGKILL:
        reason += " (out of memory, perhaps)"
    end_attempt(path, "crashed", reason=reason)
    store.fail_with(told["trial"], reason)
    return True


def _end_with_parent() -> None:
    """A supervisor that is killed takes its child along: the kernel then sends it SIGTERM."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _silent(queue: Queue, trial: Trial) -> bool:
    latest = queue.situation(trial.id).latest
    return latest is not None and latest.outcome is None and latest.silent_for > queue.rules.stale_seconds / 2


def _with_threads(runtime: Runtime, threads: int | None) -> Runtime:
    return Runtime(**{**asdict(runtime), "threads": threads})


def _card_name() -> str:
    me: dict[str, Any] = whoami()
    return f"{me['slurm_job'] or me['host'].split()[0]}-{me['pid']}"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
