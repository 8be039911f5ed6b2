"""The intervals that a figure's `interval` may name: how wide each is, and how captions describe it."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bertxfer.errors import BertxferError

Array = NDArray[Any]
PAPER_CODE_T = 2.667  # tamkin2020's plotting code takes it for any number of trials, and sd with ddof 0


@dataclass(frozen=True)
class Interval:
    half_width: Callable[[Array], float]  # around the mean of two scores or more
    under_charts: str
    under_tables: str


def _t95(scores: Array) -> float:
    return float(stats.t.ppf(0.975, len(scores) - 1)) * float(scores.std(ddof=1)) / math.sqrt(len(scores))


def _sd2(scores: Array) -> float:
    return 2.0 * float(scores.std(ddof=1))


def _paper_code(scores: Array) -> float:
    return PAPER_CODE_T * float(scores.std(ddof=0)) / math.sqrt(len(scores))


INTERVALS = {
    "t95": Interval(_t95, "Bars are 95% t-intervals.", "±: 95% t-interval"),
    "sd2": Interval(_sd2, "Bars are ±2 standard deviations.", "±: two standard deviations"),
    "paper_code": Interval(
        _paper_code,
        "Bars are those of tamkin2020's code (t = 2.667, ddof 0), which are not 95% intervals.",
        "±: as tamkin2020's code draws it, t=2.667 for any number of trials; not a 95% interval",
    ),
    "none": Interval(lambda scores: math.nan, "", "no interval"),
}


def half_width(scores: Array, interval: str = "t95") -> float:
    """Half of an interval around the mean; NaN for one score, which has none."""
    if interval not in INTERVALS:
        raise BertxferError(f"interval: {interval!r} is not one of {', '.join(INTERVALS)}")
    return INTERVALS[interval].half_width(np.asarray(scores)) if len(scores) > 1 else math.nan
