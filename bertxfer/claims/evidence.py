"""Evidence that may be looked at after every round: a confidence sequence for a mean.

A t-test's interval is right if one looks once. This one contains the mean after every round at once, with the
probability that is asked for, so that one may stop whenever it has decided. It is what the t-test's Bayes factor does
not reject, with a normal prior on the effect in units of the spread and the right Haar prior on the spread: that Bayes
factor is an e-process (Perez-Ortiz, Lardy, de Heide and Gruenwald 2022), and has a closed form (Gonen, Johnson, Lu and
Westfall 2005).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
PRIOR = 1.0  # variance of the effect, in units of the spread: an effect of one standard deviation is nothing unusual


def bayes_factor(t: float, n: int) -> float:
    """How much more likely a t statistic of n numbers is if there is an effect than if there is none."""
    scale, freedom = 1 + n * PRIOR, n - 1
    ratio = (1 + t**2 / freedom) / (1 + t**2 / (freedom * scale))
    return float(ratio ** (n / 2) / math.sqrt(scale))


def half_widths(n: Array, spread: Array, level: float) -> Array:
    """Half the width of the interval after n numbers of that standard deviation; infinite where too few say nothing."""
    scale = 1 + n * PRIOR
    # bayes_factor < 1 / level, solved for t**2 / freedom.
    bound = (np.sqrt(scale) / level) ** (2 / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        largest = np.where(bound < scale, (bound - 1) / (1 - bound / scale), np.inf)
        return np.where(np.isinf(largest), np.inf, spread * np.sqrt((n - 1) * largest / n))


def sequences(numbers: Array, level: float, resolution: float) -> tuple[Array, Array]:
    """Lower and upper ends after each number, along the last axis; none before the second.

    Scores come in steps, of one dev row for example, so equal numbers do not mean that there is no spread: they are
    taken to be rounded to `resolution`.
    """
    n = np.arange(1, numbers.shape[-1] + 1)
    mean = np.cumsum(numbers, axis=-1) / n
    squares = np.cumsum(numbers**2, axis=-1) - n * mean**2
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.maximum(squares, 0.0) / (n - 1) + resolution**2 / 6  # of a difference of two rounded numbers
    half = half_widths(n, np.sqrt(variance), level)
    half = np.where(n < 2, np.inf, half)
    return mean - half, mean + half


def interval(numbers: Sequence[float], level: float, resolution: float) -> tuple[float, float]:
    """The ends after the last number."""
    if not numbers:
        return -math.inf, math.inf
    low, high = sequences(np.asarray(numbers, dtype=float), level, resolution)
    return float(low[-1]), float(high[-1])
