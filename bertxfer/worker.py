"""A worker: takes the next unfinished trial, runs it, records it, goes on; and gives it back when it must stop.

`supervise` is what a local process or a SLURM job runs. It imports no torch and lives on when a trial takes its
process down: the process that drains the sweep is its child, and is started again.
"""

import contextlib
import ctypes
import json
import math
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from bertxfer import chains, manifest, slurm, summary, tracking
from bertxfer.config import Runtime
from bertxfer.errors import ArtifactGone, BertxferError, Interrupted, TrialError
from bertxfer.files import write_json
from bertxfer.identity import Trial
from bertxfer.processes import whoami
from bertxfer.queue import Claim, Queue, Rules, Situation, end_attempt
from bertxfer.store import Result, Store

MOST_TOGETHER = 128  # probes in one computation: BERT-base's poolers with Adam's moments take 1 GB then
RELEASED = 75  # exit status of a child that gave its trial back before the sweep was done
REFUSED = 65  # of one that cannot read the sweep, which another one could not either


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


Taken = list[tuple[Trial, Claim]]  # trials that are computed together; mostly one


def drain(
    trials: Sequence[Trial],
    queue: Queue,
    runtime: Runtime,
    stop: Stop,
    say: Callable[[str], None] = print,
    on_claim: Callable[[Taken], None] = lambda taken: None,
    limit: int | None = None,
) -> int:
    """Runs what is unfinished and nobody else runs, until nothing is left to take; returns how many it ran."""
    ran, pending = 0, list(trials)
    # Encoders that other trials will begin with.
    wanted = {p.id for t in trials if t.science.chain and _state(queue, t) != "done" for p in chains.prefixes(t)}
    most = math.inf if limit is None else limit
    while pending and not stop() and ran < most:
        left: list[Trial] = []
        tried, ahead = ran, 0
        for place, trial in enumerate(pending):
            if stop() or ran >= most:
                break
            if place < ahead:
                left.append(trial)
                continue
            state = _state(queue, trial)
            if state == "waiting":
                import bertxfer.trial  # noqa: F401  torch takes seconds to import, in which no trial should be held

                taken = _take(trial, pending, queue, wanted, say)
                if taken:
                    on_claim(taken)
                    ran += run_claimed(taken, queue.store, runtime, stop, say)
                state = _state(queue, trial)
                if not taken and state != "waiting":  # another was faster: many would race for every trial to come
                    ahead = place + 1 + secrets.randbelow(len(pending) - place)
            if state not in ("done", "failed"):
                left.append(trial)
        # What others run is left to them, unless one of them has fallen silent: that trial may soon be free.
        situations = [queue.situation(trial.id, trial.outputs) for trial in left]
        silent = any(_silent(situation, queue.rules) for situation in situations)
        pending = [t for t, now in zip(left, situations, strict=True) if silent or now.state == "waiting"]
        if pending and not ahead and (silent or ran == tried) and not stop():  # all waits for what others run
            time.sleep(min(1.0, queue.rules.stale_seconds / 10))
    return ran


def _take(
    trial: Trial, pending: Sequence[Trial], queue: Queue, wanted: Collection[str], say: Callable[[str], None]
) -> Taken:
    """Claims the trial, or the stage that it has to wait for, and those that are computed together with it."""
    needed = chains.missing_first(trial, lambda prefix: queue.store.artifacts.has("encoders", prefix))
    if needed.id != trial.id and queue.situation(needed.id, needed.outputs).state == "failed":
        if (claim := queue.claim(trial.id, trial.outputs)) is not None:
            reason = f"its stage {needed.id} failed: {queue.store.why_failed(needed.id)}"
            queue.store.fail_with(trial.id, reason)
            claim.end("failed")
            say(f"failed  {trial.id}: {reason}")
        return []
    crashed_before = queue.situation(needed.id, needed.outputs).crashes > 0
    claim = queue.claim(needed.id, needed.outputs)
    if claim is None:
        return []
    if needed.id in wanted:
        needed = replace(needed, outputs=tuple(sorted({*needed.outputs, "encoder"})))
    taken = [(needed, claim)]
    company = needed.science.company()
    if company is not None and not crashed_before:  # one that took its process down may do so again, but alone
        mates = (other for other in pending if other.id != needed.id and other.science.company() == company)
        for mate in mates:
            if len(taken) == MOST_TOGETHER:
                break
            own = None if queue.situation(mate.id).crashes else queue.claim(mate.id)
            if own is not None:
                taken.append((mate, own))
    return taken


def run_claimed(taken: Taken, store: Store, runtime: Runtime, stop: Stop, say: Callable[[str], None]) -> int:
    """One attempt at trials that are computed together; how it ended is written down. Returns how many are done."""
    outcomes: list[tuple[str, dict[str, Any]]] = [("released", {})] * len(taken)
    trials = [trial for trial, _ in taken]
    results: list[Result | TrialError] = []
    try:
        from bertxfer import probing
        from bertxfer.trial import run

        if trials[0].science.probe is not None:
            results = probing.run(trials, store, runtime, stop)
        else:
            results = [run(trials[0], store, runtime, stop, taken[0][1].superseded)]
        outcomes = [("failed" if isinstance(result, TrialError) else "done", {}) for result in results]
    except Interrupted as interruption:
        details = {"steps": interruption.steps, "time_was_up": stop.time_is_up()}
        outcomes = [("released", details)] * len(taken)
        for one in trials:
            if details["time_was_up"] and not interruption.steps:
                store.fail_with(one.id, "the time limit came before the first step; raise hydra.launcher.time")
            say(f"given back  {one.id} at step {interruption.at}")
    except ArtifactGone as gone:
        say(f"given back  {trials[0].id}: {gone}")
    except Exception as error:
        # Where another worker has taken a trial over or ended it, what is in the way of this one is not a failure.
        outcomes = [
            ("released" if claim.superseded() or store.complete(one.id, one.outputs) else "failed", {})
            for one, claim in taken
        ]
        results = [error if isinstance(error, TrialError) else TrialError(str(error))] * len(taken)
        for (one, _), (outcome, _) in zip(taken, outcomes, strict=True):
            if outcome == "failed":
                with contextlib.suppress(OSError):  # on a full disk a reason cannot be kept either
                    store.fail(one, error)
    finally:
        for (_, claim), (outcome, details) in zip(taken, outcomes, strict=True):
            claim.end(outcome, **details)
    for one, result, (outcome, _) in zip(trials, results, outcomes, strict=False):
        if outcome == "done" and not isinstance(result, TrialError):
            say(summary.line(result, "done"))
            tracking.track(one.id, store, runtime.track, say)
        elif outcome == "failed":
            say(f"failed  {one.id}: {store.why_failed(one.id)}")
    return sum(outcome == "done" for outcome, _ in outcomes)


def supervise(post: Post) -> None:
    """Keeps one draining process alive until the sweep is drained or this worker is told to stop."""
    folder = Path(post.sweep)
    card = folder / "workers" / f"{_card_name()}.json"
    card.parent.mkdir(parents=True, exist_ok=True)
    store, stop, lost_without_a_trial = Store(folder.parent.parent), Stop(), 0
    with stop.on_signals():
        while True:
            child = _start_child(post, card)
            status = _wait(child, stop, card, min(5.0, post.rules.stale_seconds / 6))
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
    if told_to_stop and slurm.requeue_unless_cancelled():
        _say("near the time limit or preempted: this job is queued again")
    if status == REFUSED:
        raise BertxferError("the worker's process refused the sweep; it has said why")
    if status not in (0, RELEASED) and not stop():
        raise RuntimeError(f"the worker's process ended three times with status {status} before it had a trial")


def main() -> int:
    """The draining child: `python -m bertxfer.worker`, its post as JSON on standard input."""
    _end_with_parent()
    told = json.loads(sys.stdin.read())
    card, supervisor = Path(told.pop("card")), told.pop("supervisor")
    post = _post(told)
    try:
        sweep = manifest.read(Path(post.sweep))
    except BertxferError as error:
        _say(str(error))
        return REFUSED
    runtime = sweep.runtime if sweep.runtime.threads else _with_threads(sweep.runtime, post.threads)
    queue = Queue(sweep.store, post.launch, post.rules)
    stop = Stop()

    def note(taken: Taken) -> None:
        attempts = {trial.id: str(claim.path) for trial, claim in taken}
        with contextlib.suppress(OSError):
            write_json(card, {"worker": supervisor, "attempts": attempts, "pid": os.getpid()})

    try:
        with stop.on_signals():
            drain(sweep.trials, queue, runtime, stop, _say, note, post.limit)
    except OSError as error:  # the disk is full, or the folder is read-only or away
        _say(f"no trial can be taken: {error}")
        return 1
    return RELEASED if stop() else 0


def _post(told: dict[str, Any]) -> Post:
    return Post(**{**told, "rules": Rules(**told["rules"])})


def _start_child(post: Post, card: Path) -> "subprocess.Popen[str]":
    with contextlib.suppress(OSError):
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


def _wait(child: "subprocess.Popen[str]", stop: Stop, card: Path, every_seconds: float) -> int:
    """Waits for the child, passes on the wish to stop, and shows by touching its card that this worker lives."""
    told, touched = False, 0.0
    while (status := child.poll()) is None:
        if stop() and not told:
            child.send_signal(signal.SIGTERM)
            told = True
        if time.monotonic() - touched > every_seconds:
            with contextlib.suppress(OSError):
                os.utime(card)
            touched = time.monotonic()
        time.sleep(0.05)
    return status


def _close_attempts(card: Path, status: int, store: Store) -> bool:
    """Writes down that the child died in mid-trial; false if it had none."""
    reason = f"its process was ended by signal {-status}" if status < 0 else f"its process ended with status {status}"
    if status == -signal.SIGKILL:
        reason += " (out of memory, perhaps)"
    closed = False
    try:
        attempts: dict[str, str] = json.loads(card.read_text(encoding="utf-8"))["attempts"]
    except (OSError, ValueError, KeyError):
        return False
    for trial_id, name in attempts.items():
        with contextlib.suppress(OSError, ValueError):
            if json.loads(Path(name).read_text(encoding="utf-8")).get("outcome") is None:
                end_attempt(Path(name), "crashed", reason=reason)
                store.fail_with(trial_id, reason)
                closed = True
    return closed


def _state(queue: Queue, trial: Trial) -> str:
    return queue.situation(trial.id, trial.outputs).state


def _end_with_parent() -> None:
    """A supervisor that is killed takes its child along: the kernel then sends it SIGTERM."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def _silent(situation: Situation, rules: Rules) -> bool:
    latest = situation.latest
    return latest is not None and latest.outcome is None and latest.silent_for > rules.stale_seconds / 2


def _with_threads(runtime: Runtime, threads: int | None) -> Runtime:
    return Runtime(**{**asdict(runtime), "threads": threads})


def _card_name() -> str:
    me: dict[str, Any] = whoami()
    return f"{me['slurm_job'] or me['host'].split()[0]}-{me['pid']}"


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    # With its post on the command line it is a worker, with it on standard input the draining child of one.
    if sys.argv[1:]:
        supervise(_post(json.loads(sys.argv[1])))
    else:
        sys.exit(main())
