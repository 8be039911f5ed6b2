"""The number that a round gives for a case: a difference, a rank correlation, or how far an extreme stands out.

Every kind of claim is about the mean of one number a round, so that one rule decides all of them.
"""

import math
from collections.abc import Sequence

from bertxfer.claims.case import Case
from bertxfer.claims.claim import CONCORDANT, DIFFERENCE, EXTREME, RANK
from bertxfer.claims.verdict import LESS


def number_of(case: Case, row: Sequence[float]) -> float:
    """Of the cells of one round; NaN where one of them is not defined."""
    if any(math.isnan(value) for value in row):
        return math.nan
    unit, cells = 100.0 if case.in_points else 1.0, case.rounds[0][1]
    if case.kind == DIFFERENCE:
        return unit * sum(cell.part * value for cell, value in zip(cells, row, strict=True)) - case.level
    if case.kind == RANK:
        return rank_correlation([cell.part for cell in cells], row)
    if case.kind == EXTREME:
        best = min if case.wants == LESS else max
        inside = [value for cell, value in zip(cells, row, strict=True) if cell.part]
        outside = [value for cell, value in zip(cells, row, strict=True) if not cell.part]
        return unit * (best(inside) - best(outside))
    some, others = (
        {cell.part: value for cell, value in zip(cells, row, strict=True) if cell.group == group} for group in (0, 1)
    )
    shared = [step for step in some if step in others]
    return rank_correlation([some[step] for step in shared], [others[step] for step in shared])


def rank_correlation(some: Sequence[float], others: Sequence[float]) -> float:
    """Spearman's; 0 where one of the two is the same everywhere, and neither rises nor falls."""
    if len(set(some)) < 2 or len(set(others)) < 2:
        return 0.0
    from scipy import stats  # not at the top: it takes half a second, and workers without claims need none

    return float(stats.spearmanr(some, others).statistic)


def concordant(rows: Sequence[Sequence[float]]) -> list[tuple[int, float]]:
    """How far two series go together: for each round after the first, the product of its two ranks among the rounds
    until then, both centred and in units of their spread; each with how many rounds there were.

    Where the two have nothing to do with each other, such products are independent, with mean 0 and variance 1,
    whatever the numbers are; where their ranks agree, their mean is 1.
    """
    from scipy import stats

    numbers: list[tuple[int, float]] = []
    before: list[Sequence[float]] = []
    for count, row in enumerate(rows, start=1):
        if any(math.isnan(value) for value in row):
            continue
        before.append(row)
        n = len(before)
        if n > 1:
            spread = math.sqrt((n * n - 1) / 12)
            ranks = [float(stats.rankdata(series)[-1]) for series in zip(*before, strict=True)]
            numbers.append((count, math.prod((rank - (n + 1) / 2) / spread for rank in ranks)))
    return numbers


def step_of(case: Case, step: float) -> float:
    """The smallest step of a case's numbers: of a dev row in points, or of a rank correlation of so many places."""
    if case.kind in (DIFFERENCE, EXTREME):
        return step * (100.0 if case.in_points else 1.0)
    if case.kind == CONCORDANT:
        return 0.0
    n = len(case.rounds[0][1]) // (1 if case.kind == RANK else 2)
    return 12 / (n**3 - n)
