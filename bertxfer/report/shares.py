"""The share of a benefit that is left: (score - none) / (full - none), with the set of shares that the seeds allow.

A ratio of means has no t-interval, and one from its standard error is wrong where the benefit is small beside its
spread. Fieller's set has every share for which the numerator minus that share of the denominator is not told from zero
by a paired t-test at the 5% level, so it covers the true share as often as a t-interval covers a mean, whatever the
benefit is. What that costs is its form: where the benefit is not told from zero, the set has no bound or is everything.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bertxfer.report.statistics import FEWEST_PAIRS, LEVEL, counted, flat

Array = NDArray[Any]
BOUNDED, UNBOUNDED, ANYTHING, HARM, UNKNOWN = "bounded", "unbounded", "anything", "harm", "unknown"


@dataclass(frozen=True)
class Share:
    """A share with its 95% set: from low to high, but not between the two that are excluded, where there are such."""

    n: int
    gain: float  # the mean of score - none
    benefit: float  # the mean of full - none
    form: str  # of the set: bounded, unbounded (everything but a gap), anything; harm: there is no benefit; unknown
    share: float = math.nan  # only of a benefit that is told from zero: beside another one a ratio says nothing
    low: float = math.nan
    high: float = math.nan
    excluded_low: float = math.nan
    excluded_high: float = math.nan


def fieller(gains: Sequence[float] | Array, benefits: Sequence[float] | Array) -> Share:
    """The share of each gain in its benefit: number i of both comes from the same seeds."""
    some, whole = np.asarray(gains, dtype=float), np.asarray(benefits, dtype=float)
    n = len(some)
    means = (float(some.mean()), float(whole.mean())) if n else (math.nan, math.nan)
    if n < 2 or (flat(some) and flat(whole)):  # without spread t has no distribution
        return Share(n, *means, UNKNOWN, means[0] / means[1] if n > 1 and means[1] > 0 else math.nan)
    covariance = np.cov(some, whole) / n
    t2 = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) ** 2
    # The shares s with (gain - s benefit)^2 <= t^2 var(gain - s benefit), that is a s^2 - 2 b s + c <= 0.
    a = means[1] ** 2 - t2 * covariance[1, 1]
    b = means[0] * means[1] - t2 * covariance[0, 1]
    c = means[0] ** 2 - t2 * covariance[0, 0]
    inside = b * b - a * c
    if a > 0 and means[1] < 0:
        return Share(n, *means, HARM)
    if a > 0:  # the share itself is in the set, so what is below zero is rounding
        root = math.sqrt(max(0.0, inside))
        return Share(n, *means, BOUNDED, means[0] / means[1], (b - root) / a, (b + root) / a)
    if a == 0 or inside <= 0:
        return Share(n, *means, ANYTHING, low=-math.inf, high=math.inf)
    root = math.sqrt(inside)
    ends = sorted(((b - root) / a, (b + root) / a))
    return Share(n, *means, UNBOUNDED, math.nan, -math.inf, math.inf, *ends)


def set_in_words(found: Share) -> str:
    """The set as a cell has it, in percent."""
    if found.form in (UNKNOWN, HARM):
        return "-"
    if found.form == ANYTHING:
        return "anything"
    if found.form == UNBOUNDED:
        return f"no bound, but not {_percent(found.excluded_low)} to {_percent(found.excluded_high)}"
    return f"{_percent(found.low)} to {_percent(found.high)}"


def in_words(found: Share) -> str:
    """What a share says, in a sentence."""
    if found.n < 2:
        return f"{counted(found.n, 'triple')}: nothing can be said about a share"
    points = f"{abs(100 * found.benefit):.1f} points"
    if found.form == UNKNOWN:
        size = "the same" if math.isnan(found.share) else f"{_percent(found.share)}% of a benefit of {points}"
        return f"{size} in every one of {found.n} triples: an interval needs some spread"
    if found.form == HARM:
        return f"pretraining lowers the score by {points}: there is no benefit to have a share of"
    if found.form != BOUNDED:
        direction = "higher" if found.benefit >= 0 else "lower"
        may_be = "may be anything" if found.form == ANYTHING else f"has {set_in_words(found)}%"
        return (
            f"the benefit itself ({points} {direction} in {found.n} triples) is not told from zero: the share {may_be}"
        )
    size = f"{_percent(found.share)}% of a benefit of {points}"
    if found.n < FEWEST_PAIRS:
        return f"{size} in {found.n} triples: too few for a claim"
    return f"{size} (95% interval {set_in_words(found)}%, {found.n} triples)"


def _percent(share: float) -> str:
    return f"{100 * share:.0f}".replace("-0", "0") if abs(share) < 0.005 else f"{100 * share:.0f}"
