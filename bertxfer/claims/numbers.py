"""The number that a round gives for a case: a difference, a rank correlation, or how far an extreme stands out.

A claim is about the mean of one number a round, so that one rule decides all, but for the place of an extreme, which is
decided from the scores of all places (verdict.py): the number only says whether the round has them.
"""

import math
from collections.abc import Sequence

import numpy as np

from bertxfer.claims.case import Case
from bertxfer.claims.claim import CONCORDANT, DIFFERENCE, EXTREME, RANK
from bertxfer.claims.evidence import Array
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


def places_of(case: Case, rows: Sequence[Sequence[float]]) -> tuple[Array, Array]:
    """Of an extreme: scores of the places inside and outside, a row each; those of the smallest are turned round."""
    unit = (100.0 if case.in_points else 1.0) * (-1 if case.wants == LESS else 1)
    cells = case.rounds[0][1]
    of_places = unit * np.asarray(rows, dtype=float).reshape(len(rows), len(cells)).T
    inside = np.array([bool(cell.part) for cell in cells])
    return of_places[inside], of_places[~inside]


def concordant(rows: Sequence[Sequence[float]]) -> list[tuple[int, float]]:
    """How far two series go together: for each round after the first, the product of its two ranks among the rounds
    until then, both centred and in units of their spread; each with how many rounds there were.

    Where the two have nothing to do with each other, such products are independent, with mean 0 and variance 1,
    whatever the numbers are; where their ranks agree, their mean is 1. While one of the two is the same in all rounds,
    as at chance, there is nothing that could go together, and no number.
    """
    from scipy import stats

    numbers: list[tuple[int, float]] = []
    before: list[Sequence[float]] = []
    for count, row in enumerate(rows, start=1):
        if any(math.isnan(value) for value in row):
            continue
        before.append(row)
        ranks = [stats.rankdata(series) for series in zip(*before, strict=True)]
        spreads = [float(one.std()) for one in ranks]
        if all(spreads):
            centred = [float(one[-1] - one.mean()) / spread for one, spread in zip(ranks, spreads, strict=True)]
            numbers.append((count, math.prod(centred)))
    return numbers


def correlation_of(rows: Sequence[Sequence[float]]) -> float:
    """The rank correlation of two series over their rounds."""
    known = [row for row in rows if not any(math.isnan(value) for value in row)]
    return rank_correlation([row[0] for row in known], [row[1] for row in known])


def step_of(case: Case, step: float) -> float:
    """The smallest step of a case's numbers: of a dev row in points, or of a rank correlation of so many places."""
    if case.kind in (DIFFERENCE, EXTREME):
        return step * (100.0 if case.in_points else 1.0)
    if case.kind == CONCORDANT:
        return 0.0
    n = len(case.rounds[0][1]) // (1 if case.kind == RANK else 2)
    return 12 / (n**3 - n)
