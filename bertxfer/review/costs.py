"""How long trials will take, estimated from the stored timings of similar ones; a guess is called a guess."""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bertxfer.errors import BertxferError
from bertxfer.store.results import seconds_of
from bertxfer.store.store import Store

_ENOUGH = 20  # timings of one kind that are read


@dataclass(frozen=True)
class Work:
    """What decides how long a trial takes."""

    model: str
    task: str
    n: int | None  # training rows; None: not known beforehand
    epochs: int  # at most
    kind: str = "finetune"  # probe: on features that were computed before

    @property
    def amount(self) -> int | None:
        return None if self.n is None else self.n * max(1, self.epochs)


@dataclass(frozen=True)
class Timing:
    work: Work
    seconds: float
    device: str


@dataclass(frozen=True)
class Estimate:
    seconds: float | None
    like: bool  # from trials of the same model, task, n and epochs
    basis: str


@dataclass(frozen=True)
class Bill:
    """How long some trials take together, by how well that is known."""

    like_trials: int = 0
    like_seconds: float = 0.0
    guessed_trials: int = 0
    guessed_seconds: float = 0.0
    unknown_trials: int = 0
    bases: tuple[str, ...] = ()

    @property
    def seconds(self) -> float:
        return self.like_seconds + self.guessed_seconds

    @property
    def trials(self) -> int:
        return self.like_trials + self.guessed_trials + self.unknown_trials


def work_of(science: Mapping[str, Any], train_size: int | None) -> Work:
    """The work of a scientific config given as plain data."""
    n, fraction = science["data"]["n"], science["data"]["fraction"]
    if fraction is not None:
        n = None if train_size is None else max(1, round(fraction * train_size))
    elif n is None:
        n = train_size
    kind = "probe" if science.get("probe") else "finetune"
    return Work(science["model"]["name"], science["task"]["name"], n, science["training"]["epochs"], kind)


def bill(works: Iterable[Work], timings: Sequence[Timing]) -> Bill:
    """The estimates of these works, added up."""
    like, guessed, unknown, bases = [0, 0.0], [0, 0.0], 0, []
    for work, count in Counter(works).items():
        estimated = estimate(work, timings)
        bases.append(estimated.basis)
        if estimated.seconds is None:
            unknown += count
            continue
        sums = like if estimated.like else guessed
        sums[0] += count
        sums[1] += count * estimated.seconds
    return Bill(int(like[0]), like[1], int(guessed[0]), guessed[1], unknown, tuple(dict.fromkeys(bases)))


def estimate(work: Work, timings: Sequence[Timing]) -> Estimate:
    """The median of similar trials; else the nearest of the same model, scaled by rows times epochs; else nothing."""
    same = [timing for timing in timings if timing.work == work]
    if same:
        seconds, device = _median(same)
        return Estimate(seconds, True, f"{work.model}, {work.task}, n={work.n}: stored timings on {device}")
    of_model = [t for t in timings if (t.work.model, t.work.kind) == (work.model, work.kind)]
    candidates = [timing for timing in of_model if timing.work.task == work.task] or of_model
    if not candidates:
        return Estimate(None, False, f"{work.model}: no stored timing of it, so no estimate")
    amount = work.amount
    if amount is None:
        return Estimate(None, False, f"{work.task}: its number of rows is not known beforehand, so no estimate")
    nearest = min((timing.work for timing in candidates), key=lambda known: abs(math.log(amount / _amount(known))))
    seconds, device = _median([timing for timing in candidates if timing.work == nearest])
    basis = f"{work.model}, {work.task}, n={work.n}: a guess, scaled from {nearest.task}, n={nearest.n} on {device}"
    return Estimate(seconds * amount / _amount(nearest), False, basis)


def timings_in(store: Store, models: Iterable[str]) -> list[Timing]:
    """The timings of finished trials of these models: for each kind of trial, the first few."""
    timings: list[Timing] = []
    wanted, seen = set(models), Counter[tuple[Any, ...]]()
    for trial_id in sorted(store.finished()):
        try:
            result = store.result_alone(trial_id) or {}
            kind = (result["model"], result["task"], result["n_train"], result["epochs"])
            if result["model"] not in wanted or result["resumed_at_step"] is not None or seen[kind] >= _ENOUGH:
                continue  # a resumed trial has the timings of its last attempt only
            seen[kind] += 1
            work = work_of(store.config(trial_id), result["n_train"])
            timings.append(Timing(work, seconds_of(result["timings"]), str(result["environment"]["device"])))
        except (BertxferError, KeyError, TypeError):
            continue  # what cannot be read teaches nothing; reading its result says what is wrong with it
    return timings


def duration(seconds: float) -> str:
    """With two digits, in the unit that people would use."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.{1 if seconds < 10 * size else 0}f} {unit}"
    return f"{seconds:.0f} s"


def sentences(cost: Bill, workers: int | None = None) -> list[str]:
    """What a bill says, with what it rests on."""
    if not cost.trials:
        return ["nothing is left to run"]
    if cost.unknown_trials == cost.trials:
        return ["time: no estimate, because there is no stored timing of a similar trial", *_rests_on(cost)]
    share = f", {duration(cost.seconds / workers)} with {workers} workers" if workers and workers > 1 else ""
    guess = "" if not cost.guessed_trials else " (a guess)" if not cost.like_trials else " (partly a guess)"
    lines = [f"time: about {duration(cost.seconds)} of one worker{share}{guess}"]
    if cost.unknown_trials:
        lines.append(f"not in it: {cost.unknown_trials} trials without a similar one in the store")
    return [*lines, *_rests_on(cost)]


def _rests_on(cost: Bill) -> list[str]:
    more = len(cost.bases) - 6
    return [f"  {basis}" for basis in cost.bases[:6]] + ([f"  and {more} more"] if more > 0 else [])


def _median(timings: Sequence[Timing]) -> tuple[float, str]:
    """Of the device that most of them were taken on: a median of a GPU's seconds and a CPU's means nothing."""
    device = Counter(timing.device for timing in timings).most_common(1)[0][0]
    return statistics.median(timing.seconds for timing in timings if timing.device == device), device


def _amount(work: Work) -> int:
    assert work.amount is not None
    return work.amount
