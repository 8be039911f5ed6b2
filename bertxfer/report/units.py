"""The unit that numbers are shown in: scores in points, 100 times what is stored, in figures, tables and captions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertxfer.tasks import metrics

# What marks may be of: scores, which are shown in points and end where their metric ends; amounts, which are never
# below 0; or whatever is shown as the marks have it.
SCORE, AMOUNT, AS_IT_IS = "score", "amount", "as it is"
POINTS = 100  # of a score of 1
UNIT = "×100"
LOGARITHMIC = ("data.n", "data.fraction")  # columns of which a factor counts, not a difference


def limits(metric: Any) -> tuple[float, float]:
    """The least and the most that a metric can be; nothing is known of what is none."""
    if not isinstance(metric, str) or not any(metric in known for known in metrics.METRICS.values()):
        return -math.inf, math.inf
    known = metrics.named(metric)
    return known.lowest, known.highest


def value_text(value: float, unit: str) -> str:
    """A single number, as tooltips have it: one digit more than tables."""
    if value != value:
        return "undefined"
    return f"{POINTS * value:.2f}" if unit == SCORE else f"{value:.4g}"


def are_numbers(values: Sequence[Any]) -> bool:
    return bool(values) and all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in values)
