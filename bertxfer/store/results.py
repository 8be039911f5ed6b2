"""What a result.json says: which ones are believed, and what is read from them."""

import math
from collections.abc import Mapping
from types import NoneType
from typing import Any

Result = dict[str, Any]

# What a result written by hand may leave out, and what is then shown.
UNKNOWN: Result = {
    "metrics": {},
    "undefined": {},
    "timings": {},
    "environment": {},
    **dict.fromkeys(("task", "model", "treatment_text", "seed", "n_train", "steps", "epochs"), "?"),
    "treatment": {"order": None},
}


_SCALARS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("task", "model", "treatment_text"), (str,)),
    **dict.fromkeys(("seed", "n_train", "n_dev", "steps", "epochs"), (int, str)),
    **dict.fromkeys(("data_digest", "weights_digest"), (str, NoneType)),
}


def problem_of(result: Any, trial_id: str) -> str | None:
    """What keeps a result.json from being believed; None where nothing does."""
    if not isinstance(result, dict):
        return "is not a JSON object"
    if result.get("id") != trial_id:
        return f"is the result of {result.get('id')!r}"
    if "score" not in result or not is_score(result["score"]):
        return f"has the score {result.get('score', 'missing')!r}, which is neither a finite number nor null"
    for key in ("metrics", "timings", "environment", "undefined", "treatment"):
        if not isinstance(result.get(key, {}), dict):
            return f"has no mapping under {key!r}"
    for key, kinds in _SCALARS.items():
        if key in result and not isinstance(result[key], kinds):
            return f"has {key} = {result[key]!r}, which is of the wrong type"
    if not isinstance(result.get("treatment", {}).get("order", []), (list, NoneType)):
        return "has a treatment.order that is not a list"
    for key in ("metrics", "timings"):
        for name, value in result.get(key, {}).items():
            if not is_score(value) or (value is None and key == "timings"):
                return f"has {key}.{name} = {value!r}, which is not a finite number"
    return None


def is_score(value: Any) -> bool:
    """Whether it is a finite number, or null for a score that is not defined."""
    if value is None:
        return True
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300  # ints have no limit


def number(value: float) -> float | None:
    """JSON has no nan and no infinity: what is not a finite number is null."""
    return value if math.isfinite(value) else None


def seconds_of(timings: Mapping[str, float]) -> float:
    """The time of a whole trial. Dev scores between epochs are part of its training, and were counted there."""
    others = sum(seconds for name, seconds in timings.items() if name != "evaluate")
    return others + max(0.0, timings.get("evaluate", 0.0) - timings.get("train", 0.0))
