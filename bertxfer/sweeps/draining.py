"""Draining a sweep: takes the next unfinished trial, runs it, records it, goes on; gives it back when it must stop."""

import contextlib
import math
import secrets
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import ArtifactGone, Interrupted, TrialError
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps import summary, tracking
from bertxfer.sweeps.attempt import Held, Rules
from bertxfer.sweeps.deciding import HELD_BACK, NOT_NEEDED, Deciding
from bertxfer.sweeps.queue import Queue, Situation
from bertxfer.sweeps.stop import Stop
from bertxfer.system import collector
from bertxfer.trials import chains
from bertxfer.trials.trial import Trial

MOST_TOGETHER = 128  # probes in one computation, so that an interruption loses little


Taken = list[tuple[Trial, Held]]  # trials that are computed together; mostly one


def drain(
    trials: Sequence[Trial],
    queue: Queue,
    runtime: Runtime,
    stop: Stop,
    say: Callable[[str], None] = print,
    on_taking: Callable[[Taken], None] = lambda taken: None,
    limit: int | None = None,
    deciding: Deciding | None = None,
) -> int:
    """Runs what is unfinished and nobody else runs, until nothing is left to take; returns how many it ran. Where
    claims are to be decided, only what they need."""
    ran, pending = 0, list(trials)
    # Encoders that other trials will begin with.
    wanted = {p.id for t in trials if t.science.chain and _state(queue, t) != "done" for p in chains.prefixes(t)}
    most = math.inf if limit is None else limit
    while pending and not stop() and ran < most:
        left: list[Trial] = []
        tried, ahead = ran, 0
        for i, trial in enumerate(pending):
            if stop() or ran >= most:
                break
            if i < ahead:
                left.append(trial)
                continue
            state = _state(queue, trial)
            if state == "waiting" and deciding is not None and (needed := deciding.needs(trial.id)) is not True:
                left += [trial] if needed is None else []
                continue
            if state == "waiting":
                import_learning()
                taken = _take(trial, pending, queue, wanted, say, deciding)
                if taken:
                    on_taking(taken)
                    ran += run_taken(taken, queue.store, runtime, stop, say)
                state = _state(queue, trial)
                if not taken and state != "waiting":  # another was faster, and would be again: jump ahead
                    ahead = i + 1 + secrets.randbelow(len(pending) - i)
            if state not in ("done", "failed"):
                left.append(trial)
        if deciding is not None:
            left = _not_in_vain(left, trials, queue, deciding)
        # What others run is left to them, unless one of them has fallen silent: that trial may soon be free.
        situations = [queue.situation(trial.id, trial.outputs) for trial in left]
        silent = any(_may_be_free_soon(situation, queue.rules) for situation in situations)
        pending = [t for t, now in zip(left, situations, strict=True) if silent or now.state == "waiting"]
        if pending and not ahead and (silent or ran == tried) and not stop():  # all wait for what others run
            time.sleep(min(1.0, queue.rules.stale_seconds / 10))
    return ran


@lru_cache(maxsize=1)
def import_learning() -> None:
    """Torch and transformers take seconds to import, in which no trial should be held."""
    with collector.resting():
        import bertxfer.learning.run  # noqa: F401


def _not_in_vain(left: Sequence[Trial], trials: Sequence[Trial], queue: Queue, deciding: Deciding) -> list[Trial]:
    """Without the trials that nobody will need, or of which it cannot be known since one that they wait for failed."""
    states = deciding.states({trial.id: _state(queue, trial) for trial in trials}) if left else {}
    return [trial for trial in left if states[trial.id] not in (NOT_NEEDED, HELD_BACK)]


def _take(
    trial: Trial,
    pending: Sequence[Trial],
    queue: Queue,
    wanted: Collection[str],
    say: Callable[[str], None],
    deciding: Deciding | None,
) -> Taken:
    """Claims the trial, or the stage that it has to wait for, and those that are computed together with it."""
    # A stage whose encoder is there may have no result: the disk was full, or read-only, between the two.
    needed = chains.missing_first(trial, lambda prefix: queue.store.complete(prefix, ["encoder"]))
    if needed.id != trial.id and queue.situation(needed.id, needed.outputs).state == "failed":
        if (held := queue.take(trial.id, trial.outputs)) is not None:
            reason = f"its stage {needed.id} failed: {queue.why_failed(needed.id)}"
            queue.store.fail_with(trial.id, reason)
            held.end("failed")
            say(f"failed  {trial.id}: {reason}")
        return []
    crashed_before = queue.situation(needed.id, needed.outputs).crashes > 0
    held = queue.take(needed.id, needed.outputs)
    if held is None:
        return []
    if needed.id in wanted:
        needed = replace(needed, outputs=tuple(sorted({*needed.outputs, "encoder"})))
    taken = [(needed, held)]
    company = needed.science.company()
    if company is not None and not crashed_before:  # one that took its process down may do so again, but alone
        mates = (other for other in pending if other.id != needed.id and other.science.company() == company)
        for mate in mates:
            if len(taken) == MOST_TOGETHER:
                break
            unneeded = deciding is not None and not deciding.needs(mate.id)
            mate_held = None if unneeded or queue.situation(mate.id).crashes else queue.take(mate.id)
            if mate_held is not None:
                taken.append((mate, mate_held))
    return taken


def run_taken(taken: Taken, store: Store, runtime: Runtime, stop: Stop, say: Callable[[str], None]) -> int:
    """One attempt at trials that are computed together; how it ended is written down. Returns how many are done."""
    outcomes: list[tuple[str, dict[str, Any]]] = [("released", {})] * len(taken)
    trials = [trial for trial, _ in taken]
    results: list[Result | TrialError] = []
    try:
        from bertxfer.learning import probing
        from bertxfer.learning.run import run

        if trials[0].science.probe is not None:
            results = probing.run(trials, store, runtime, stop)
        else:
            results = [run(trials[0], store, runtime, stop, taken[0][1].superseded)]
        outcomes = [
            ("failed", {}) if isinstance(result, TrialError) else ("done", {"outputs": list(one.outputs)})
            for one, result in zip(trials, results, strict=True)
        ]
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
        # Where another worker has taken a trial over or ended it, an error of this one is not a failure.
        outcomes = [
            ("released" if held.superseded() or store.complete(one.id, one.outputs) else "failed", {})
            for one, held in taken
        ]
        results = [error if isinstance(error, TrialError) else TrialError(str(error))] * len(taken)
        for (one, _), (outcome, _) in zip(taken, outcomes, strict=True):
            if outcome == "failed":
                with contextlib.suppress(OSError):  # on a full disk a reason cannot be kept either
                    store.fail(one, error)
    finally:
        for (_, held), (outcome, details) in zip(taken, outcomes, strict=True):
            held.end(outcome, **details)
    for one, result, (outcome, _) in zip(trials, results, outcomes, strict=False):
        if outcome == "done" and not isinstance(result, TrialError):
            say(summary.line(result, "done"))
            tracking.track(one.id, store, runtime.track, say)
        elif outcome == "failed":
            say(f"failed  {one.id}: {store.why_failed(one.id)}")
    return sum(outcome == "done" for outcome, _ in outcomes)


def _may_be_free_soon(situation: Situation, rules: Rules) -> bool:
    """Whether the one who runs a trial has fallen silent, or cannot be told from one who has."""
    latest = situation.latest if situation.state == "running" else None
    return latest is not None and (latest.is_silent(rules, 0.5) or latest.is_ahead)


def _state(queue: Queue, trial: Trial) -> str:
    return queue.situation(trial.id, trial.outputs).state
