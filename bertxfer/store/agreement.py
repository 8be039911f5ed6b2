"""Two results of one trial: whether their numbers agree bit for bit, to a tolerance, or not. The rule is the same for a
trial that was run again and for one that two stores have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertxfer.errors import BertxferError
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.store.whole import table

BITS, CLOSE, APART, UNKNOWN = "bit for bit", "to tolerance", "does not agree", "could not be run again"
COUNTS = ("n_train", "n_dev", "steps", "epochs")
SAME = ("score", "metrics", *COUNTS, "data_digest", "weights_digest")


@dataclass(frozen=True)
class Verdict:
    trial_id: str
    agreement: str
    words: str = ""
    changed: tuple[str, ...] = ()  # what is not as it was when the result was made

    @property
    def agrees(self) -> bool:
        return self.agreement in (BITS, CLOSE)

    def __str__(self) -> str:
        verdict = f"{self.agreement}{f': {self.words}' if self.words else ''}"
        changed = f" (changed since: {', '.join(self.changed)})" if self.changed else ""
        return f"{self.trial_id}  {verdict}{changed}"


def compare(stored: Result, again: Result, before: Any, now: Any, tolerance: float) -> Verdict:
    """The verdict on two results of one trial and their tables of predictions (`before` is None where it is lost)."""
    trial_id, changed = stored["id"], tuple(_changed(stored["environment"], again["environment"]))
    if stored.get("data_digest") not in (None, again["data_digest"]):
        return Verdict(trial_id, APART, "it was trained or measured on other rows", changed)
    if other := [key for key in COUNTS if stored.get(key) not in (None, "?", again.get(key))]:
        said = ", ".join(f"{key} is {again.get(key)} and not {stored[key]}" for key in other)
        return Verdict(trial_id, APART, said, changed)
    if not differing(stored, again) and before is not None and before.equals(now):
        return Verdict(trial_id, BITS, "", changed)
    name, most = _most_off(stored, again)
    words = f"{name} is off by {most:.3g}, {tolerance:g} is allowed" if most else "equal metrics, but not the same bits"
    words += "; its predictions are lost" if before is None else f"; {_alike(before, now)}"
    if not _may_differ(stored["environment"], again["environment"]) and _differs(stored, again, before, now):
        words += "; machine, threads, versions and code are those it was made with, so no bit may differ"
        return Verdict(trial_id, APART, words, changed)
    if _is_same_machine(stored["environment"], again["environment"]):
        words += "; on the same machine, with as many threads"
    return Verdict(trial_id, CLOSE if most <= tolerance else APART, words, changed)


def difference(ours: Result, theirs: Result, before: Any, now: Any) -> str | None:
    """What two stores say differently of one trial, and how far it is apart; None where they agree bit for bit.

    Either may have been asked for metrics that the other was not, so only those of both are compared. Predictions that
    one has lost (None) contradict nothing.
    """
    ours, theirs = in_common(ours, theirs), in_common(theirs, ours)
    fields, alike = differing(ours, theirs), before is None or now is None or before.equals(now)
    if not fields and alike:
        return None
    name, most = _most_off(ours, theirs)
    words = [f"other {', '.join(fields or ['predictions'])}"]
    words.append(f"{name} is off by {most:.3g}" if most else "equal metrics")
    return "; ".join([*words, *([] if alike else [_alike(before, now)])])


def in_common(one: Result, other: Result) -> Result:
    """The first result with no metric that the other lacks, and without its score if that is another metric."""
    metrics = {name: value for name, value in one["metrics"].items() if name in other["metrics"]}
    score = one["score"] if one.get("headline") == other.get("headline") else None
    return {**one, "metrics": metrics, "score": score}


def differing(one: Result, other: Result) -> list[str]:
    """Which of the fields that must be the same are not."""
    return [key for key in SAME if one.get(key) != other.get(key)]


def predictions(store: Store, trial_id: str) -> Any:
    """The table of a trial's predictions; None where it is lost."""
    try:
        return table(store.folder(trial_id) / "predictions.parquet")
    except BertxferError:
        return None


def _most_off(one: Result, other: Result) -> tuple[str, float]:
    """The number that is furthest from the other result's, and how far."""
    off = [(name, _off(value, other["metrics"].get(name))) for name, value in one["metrics"].items()]
    off.append(("score", _off(one["score"], other["score"])))
    return max(off, key=lambda pair: pair[1])


def _off(one: float | None, other: float | None) -> float:
    """How far apart two values are; infinitely, where only one is defined."""
    if one is None or other is None:
        return 0.0 if one is other else float("inf")
    return abs(one - other)


def _alike(before: Any, now: Any) -> str:
    old, new = before["prediction"].to_pylist(), now["prediction"].to_pylist()
    same = sum(a == b for a, b in zip(old, new, strict=False))
    return f"{same} of {max(len(old), len(new))} predictions are the same"


def _differs(stored: Result, again: Result, before: Any, now: Any) -> bool:
    """Whether something is there that differs; predictions that are lost say nothing."""
    return bool(differing(stored, again)) or (before is not None and not before.equals(now))


def _may_differ(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether something else than the trial may have changed its bits: on one machine, with the same code, nothing."""
    certain = before.get("device") == "cpu" and before.get("git_dirty") in (None, False)
    return not certain or not _is_same_machine(before, now) or bool(_changed(before, now))


def _is_same_machine(before: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    keys = ("host", "threads", "device")
    return all(before.get(key) is not None and before[key] == now.get(key) for key in keys)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [f"{key} {before[key]} -> {now.get(key)}" for key in before if before[key] != now.get(key)]
