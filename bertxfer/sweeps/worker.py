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
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import BertxferError
from bertxfer.store.store import Store
from bertxfer.sweeps import bf16, manifest, nursery
from bertxfer.sweeps import card as cards
from bertxfer.sweeps.attempt import end_attempt
from bertxfer.sweeps.draining import Taken, drain
from bertxfer.sweeps.launch import cancelled, job_name, refuse_newer_launches
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.post import Post, post_of
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.system import forking, slurm_job
from bertxfer.system.files import refuse_links, touch
from bertxfer.system.processes import say_at_once, whoami
from bertxfer.trials.rounds import in_rounds
from bertxfer.trials.science import SEMANTICS

RELEASED = 75  # exit status of a child that gave its trial back before the sweep was done
REFUSED = 65  # of one that cannot read or run the sweep; another one could not either
# A child is given up after so many times the silence that loses it its trial: one that is only slow,
# such as one loading a model from a busy disk, is left alone while nobody else wants the trial.
HUNG = 10
DRAINING = "bertxfer trials"  # what the process that runs trials is called, where it was forked


Child = subprocess.Popen[str] | forking.Forked


def supervise(post: Post, forks: bool = False) -> int:
    """Keeps one draining process alive until the sweep is drained or this worker is told to stop; the exit status.

    `forks`: this process has imported what its children need.
    """
    folder = Path(post.sweep)
    card = cards.path_of(folder)
    refuse_links(folder.parent.parent, "sweeps", folder.name, "workers")
    card.parent.mkdir(parents=True, exist_ok=True)
    store, stop, lost_without_a_trial = Store(folder.parent.parent), Stop(), 0
    me = whoami()
    with stop.on_signals():
        while True:
            child = _start_child(post, card, me, forks)
            if child is None:
                break
            status = _wait(child, stop, card, post, store)
            if status in (0, RELEASED, REFUSED):
                break
            if _close_attempts(card, child.pid, status, store):
                lost_without_a_trial = 0
            else:
                lost_without_a_trial += 1
            if stop() or lost_without_a_trial == 3:
                break
    if child is None:  # this is the child
        return _drained(post, card, me)
    card.unlink(missing_ok=True)
    told_to_stop = status == RELEASED or (stop() and status == -signal.SIGTERM)  # the child was not yet listening
    wanted = told_to_stop and not cancelled(folder, post.launch).exists()
    if wanted and slurm_job.requeue_if_called(job_name(folder, post.launch)):
        say_at_once("near the time limit or preempted: this job is queued again")
    if status in (0, RELEASED) or (stop() and status != REFUSED):
        return 0
    if status < 0:  # else the process has said why itself
        _complain(f"the worker's process ended three times with status {status} before it had a trial")
    return 1


def main() -> int:
    """The draining child: `python -m bertxfer.sweeps.worker`, its post as JSON on standard input."""
    orders = json.loads(sys.stdin.read())
    card, supervisor = Path(orders.pop("card")), orders.pop("supervisor")
    return _drained(post_of(orders), card, supervisor)


def _drained(post: Post, card: Path, supervisor: Mapping[str, Any]) -> int:
    """What the draining child does, however it was started; its exit status."""
    _end_with_parent(supervisor["pid"])
    try:
        sweep = _readable(Path(post.sweep))
        bf16.check(sweep.trials, sweep.store, sweep.runtime.device, say_at_once)  # this machine may be another one
    except BertxferError as error:
        _complain(str(error))
        return REFUSED
    runtime = sweep.runtime if sweep.runtime.threads else _with_threads(sweep.runtime, post.threads)
    queue = Queue(sweep.store, post.launch, post.rules)
    stop = Stop()

    def note(taken: Taken) -> None:
        with contextlib.suppress(OSError):
            cards.write(card, supervisor, {trial.id: held.number for trial, held in taken}, os.getpid())

    try:
        with stop.on_signals():
            drain(in_rounds(sweep.trials), queue, runtime, stop, say_at_once, note, post.limit, sweep.deciding)
    except OSError as error:  # the disk is full, or the folder is read-only or away
        _complain(f"no trial can be taken: {error}")
        return 1
    return RELEASED if stop() else 0


def _readable(folder: Path) -> Manifest:
    """The sweep, if this version computes what its trials mean: else no trial is taken, and none fails for it."""
    refuse_newer_launches(folder)
    sweep = manifest.read(folder)
    others = {trial.science.semantics for trial in sweep.trials} - {SEMANTICS}
    if others:
        raise BertxferError(
            f"{sweep.name} was launched under semantics {min(others)}, and this checkout computes {SEMANTICS}: no "
            "trial is taken; check out the version that launched it, or launch the same command again"
        )
    return sweep


def _complain(sentence: str) -> None:
    """Into the log of errors, whose last line the command that waits for its workers shows."""
    print(f"bertxfer: {sentence}", file=sys.stderr, flush=True)


def _start_child(post: Post, card: Path, me: Mapping[str, Any], forks: bool) -> Child | None:
    """The process that drains, or None in it if it was forked. It has a session of its own: a Ctrl-C in a terminal
    reaches the supervisor alone, which passes it on once."""
    with contextlib.suppress(OSError):
        cards.write(card, me)
    if forks and nursery.may_fork():
        return forking.fork(DRAINING)
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
        start_new_session=True,
    )
    assert child.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(json.dumps({**asdict(post), "card": str(card), "supervisor": dict(me)}))
        child.stdin.close()
    return child


def _wait(child: Child, stop: Stop, card: Path, post: Post, store: Store) -> int:
    """Waits for the child, passes on the wish to stop, and shows by touching its card that this worker lives. That its
    launch was cancelled is such a wish: a signal does not reach other machines, nor one that is just beginning.

    A child that hangs is killed: with no other worker left, nobody else would end its trial. So is one that was told to
    stop and does not: as long as it is there, the next launch counts on this worker.
    """
    every_seconds, patience = min(5.0, post.rules.beat_seconds), HUNG * post.rules.stale_seconds
    told_to_stop, touched = False, 0.0
    beats: list[float] = []  # when the child last touched each of its open attempts
    unheard = unheeded = 0  # counted, not timed: a job that was suspended as a whole has not been silent
    while (status := child.poll()) is None:
        if time.monotonic() - touched > every_seconds:
            stop.asked = stop.asked or cancelled(Path(post.sweep), post.launch).exists()
        if stop() and not told_to_stop:
            child.send_signal(signal.SIGTERM)
            told_to_stop = True
        if time.monotonic() - touched > every_seconds:
            before, beats = beats, []
            with contextlib.suppress(OSError):  # a disk that is away or read-only says nothing about the child
                touch(card)
                beats = [path.stat().st_mtime for path in _open_attempts(card, child.pid, store).values()]
            unheard = unheard + 1 if beats and beats == before else 0
            unheeded += told_to_stop
            if max(unheard, unheeded) * every_seconds > patience:
                fault = "was silent" if unheard > unheeded else "did not end"
                say_at_once(f"process {child.pid} {fault} for {patience:g} s: it is killed")
                child.kill()
                unheard = unheeded = 0
            touched = time.monotonic()
        time.sleep(0.05)
    return status


def _close_attempts(card: Path, child: int, status: int, store: Store) -> bool:
    """Writes down that the child died in mid-trial; false if it had none."""
    reason = f"its process was ended by signal {-status}" if status < 0 else f"its process ended with status {status}"
    if status == -signal.SIGKILL:
        reason += " (out of memory, perhaps, or it hung)"
    closed = False
    for trial_id, path in _open_attempts(card, child, store).items():
        with contextlib.suppress(OSError):
            end_attempt(path, "crashed", reason=reason)
            store.fail_with(trial_id, reason)
            closed = True
    return closed


def _open_attempts(card: Path, child: int, store: Store) -> dict[str, Path]:
    """The attempts of the child that it has not ended, by their trials."""
    return cards.open_attempts(cards.read(card), child, store)


def _end_with_parent(parent: int) -> None:
    """A supervisor that is killed takes its child along: the kernel then sends it SIGTERM, and here it does so itself
    if that was before it had asked for it."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGTERM)


def _with_threads(runtime: Runtime, threads: int | None) -> Runtime:
    return Runtime(**{**asdict(runtime), "threads": threads})


def start(words: Sequence[str]) -> int:
    """With its post on the command line it is a worker, with several they are forked from it, and with none it is the
    draining child of one, which reads its post from standard input."""
    if not words:
        return main()
    posts = [post_of(json.loads(word)) for word in words if word != nursery.TOGETHER]
    if words[0] != nursery.TOGETHER:
        return supervise(posts[0])
    post = nursery.next_worker(posts)
    if post is None:
        return 0
    if post.gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = post.gpu
    return supervise(post, forks=True)


if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
