"""Profiles: a score over layers or blocks, seed by seed, and how well the ranks of two profiles agree.

A profile has a line for each seed and a column for each layer or block; a score that is missing or not defined is NaN.
Intervals are over seeds: whole lines are drawn again, since what a seed draws it draws for every layer. Simulated with
twelve layers and eight probes, they cover the true correlation in 87% to 92% of cases from six seeds on if scores vary
half as much between seeds as between layers, in 70% to 82% if they vary 1.5 times as much; with three seeds in 83% and
64%. Basic and bias-corrected intervals cover no more. So fewer than six seeds have none.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bertxfer.report import statistics
from bertxfer.report.bootstrap import RESAMPLES

Array = NDArray[Any]
FEWEST_SEEDS = statistics.FEWEST_PAIRS
FEW = f"Fewer than {FEWEST_SEEDS} seeds are too few for an interval or a claim"
_FEWEST_PLACES = 3  # two points are always in line


@dataclass(frozen=True)
class Agreement:
    """The rank correlation of two profiles' means over seeds, its 95% interval, and what each resample has."""

    value: float
    low: float
    high: float
    drawn: Array

    def minus(self, other: "Agreement") -> "Agreement":
        """The change from another one, with its own interval; both must come from the same draws."""
        drawn = self.drawn - other.drawn
        return Agreement(self.value - other.value, *_interval(drawn), drawn)


def profile(trials: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """The profile of trials that are replicates at each x. What has one seed, other streams apart, is one line."""
    return trials.astype({y: float}).pivot_table(index="seed", columns=x, values=y, aggfunc="mean", dropna=True)


def over_the_same(*profiles: pd.DataFrame) -> list[pd.DataFrame]:
    """The profiles over the layers or blocks that all of them have."""
    common = sorted(set.intersection(*(set(one.columns) for one in profiles)))
    return [one[common] for one in profiles]


def draws(seeds: int, rng: np.random.Generator, resamples: int = RESAMPLES) -> Array:
    """How often each of so many seeds is in each resample."""
    return rng.multinomial(seeds, np.full(seeds, 1 / seeds), size=resamples) if seeds else np.zeros((resamples, 0))


def agreement(some: Array, others: Array, drawn: Sequence[Array]) -> Agreement:
    """How well two profiles over the same places agree; `drawn` has the draws of the seeds of each."""
    if some.shape[1] < _FEWEST_PLACES:
        return Agreement(math.nan, math.nan, math.nan, np.full(len(drawn[0]), math.nan))
    (value,) = rank_correlations(*(_means(one, np.ones((1, len(one)))) for one in (some, others)))
    resampled = rank_correlations(_means(some, drawn[0]), _means(others, drawn[1]))
    few = min(len(some), len(others)) < FEWEST_SEEDS
    return Agreement(float(value), *((math.nan, math.nan) if few else _interval(resampled)), resampled)


def rank_correlations(some: Array, others: Array) -> Array:
    """Spearman's, line by line; NaN where a line has a gap or the same value everywhere."""
    # Means of the same scores in another order differ in their last bits, which are no rank.
    one, other = (stats.rankdata(values.round(12), axis=1) - (values.shape[1] + 1) / 2 for values in (some, others))
    gaps = np.isnan(some).any(axis=1) | np.isnan(others).any(axis=1)
    scale = np.sqrt((one**2).sum(axis=1) * (other**2).sum(axis=1))
    defined = ~gaps & (scale > 0)
    return np.divide((one * other).sum(axis=1), scale, out=np.full(len(some), math.nan), where=defined)


def in_words(found: Agreement, seeds: int) -> str:
    """What an agreement of profiles of so many seeds says."""
    if math.isnan(found.value):
        return "no correlation is defined: it needs three places and scores that differ"
    if seeds < FEWEST_SEEDS:
        return f"rank correlation {found.value:.2f} in {statistics.counted(seeds, 'seed')}: too few for a claim"
    return f"rank correlation {found.value:.2f} (95% interval {found.low:.2f} to {found.high:.2f})"


def _means(profile: Array, weights: Array) -> Array:
    """The means over seeds, each as often as it was drawn; NaN where no seed that was drawn has a score."""
    defined = ~np.isnan(profile)
    counts = weights @ defined
    sums = weights @ np.where(defined, profile, 0.0)
    return np.divide(sums, counts, out=np.full(counts.shape, math.nan), where=counts > 0)


def _interval(drawn: Array) -> tuple[float, float]:
    defined = drawn[~np.isnan(drawn)]
    if not len(defined):
        return math.nan, math.nan
    low, high = np.percentile(defined, [2.5, 97.5])
    return float(low), float(high)
