"""Correlations between tasks: do the same permutations of the layers suit them?"""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from bertxfer.report import statistics
from bertxfer.report.pairs import pairs

Array = NDArray[Any]
# Of n permutations the most extreme ranking and its reverse are 2 of n! equally likely ones, so that no exact test of
# ranks has a p below 2 / n!: less than 0.05 from five permutations on.
FEWEST_PERMUTATIONS = next(n for n in itertools.count(2) if 2 / math.factorial(n) < statistics.LEVEL)
# All n! rankings are tried up to here: 40,320 take 0.02 s. With nine the t of scipy's p is off by less than 0.01 at a p
# below 0.1; with five it says 0.037 where 0.083 is right, and 0 for a perfect correlation.
_EXACT = 8
_NUMBERS = ("pearson", "p_pearson", "spearman", "p_spearman")


def between_tasks(results: pd.DataFrame, apart: Sequence[str] = (), y: str = "score") -> pd.DataFrame:
    """Pearson and Spearman for each two tasks over the same permutations, for each combination of values of `apart`.

    What is claimed is Spearman's, corrected by Holm over all rows with enough permutations for a claim.
    """
    rows = []
    for key, group in statistics.groups(statistics.ended(results, ["task"]), apart):
        for a, b in itertools.combinations(dict.fromkeys(group["task"]), 2):
            both = _in_both(group[group["task"] == a], group[group["task"] == b], y)
            defined = both[~np.isnan(both).any(axis=1)]
            counts = {"n": len(defined), "undefined": len(both) - len(defined)}
            rows.append({**key, "a": a, "b": b, **counts, **_correlation(defined[:, 0], defined[:, 1])})
    table = pd.DataFrame(rows, columns=[*apart, "a", "b", "n", "undefined", *_NUMBERS])
    table["p_holm"] = statistics.adjusted(table["p_spearman"].where(table["n"] >= FEWEST_PERMUTATIONS), "holm")
    table["words"] = [_words(row) for row in table.to_dict("records")]
    return table


def spearman(a: Array, b: Array) -> tuple[float, float]:
    """The correlation of ranks and its two-sided p, which is exact for few values."""
    found = stats.spearmanr(a, b)
    if len(a) > _EXACT:
        return float(found.statistic), float(found.pvalue)
    one, other = (stats.rankdata(values) - (len(values) + 1) / 2 for values in (a, b))
    near = 1 - 100 * float(np.finfo(float).eps)  # sums of the same numbers in another order differ in their last bits
    as_far = np.abs(other[_orders(len(a))] @ one) >= near * abs(other @ one)
    return float(found.statistic), float(as_far.mean())


@lru_cache(maxsize=_EXACT)
def _orders(n: int) -> Array:
    return np.array(list(itertools.permutations(range(n))))


def _correlation(a: Array, b: Array) -> dict[str, float]:
    if len(a) < 3 or statistics.flat(a) or statistics.flat(b):
        return dict.fromkeys(_NUMBERS, math.nan)
    pearson = stats.pearsonr(a, b)
    return dict(zip(_NUMBERS, (float(pearson.statistic), float(pearson.pvalue), *spearman(a, b)), strict=True))


def _words(row: dict[str, Any]) -> str:
    without = f"; {row['undefined']} left out, where a score is not defined" if row["undefined"] else ""
    return f"{_sentence(row)}{without}"


def _sentence(row: dict[str, Any]) -> str:
    over = statistics.counted(row["n"], "permutation")
    if row["n"] < FEWEST_PERMUTATIONS:
        return f"{over}: too few for a claim"
    if math.isnan(row["spearman"]):
        return "one of the tasks has the same score everywhere: no correlation is defined"
    p = f"Spearman's p {statistics.p_words(row['p_holm'])} after Holm's correction, {over}"
    if row["p_holm"] >= statistics.LEVEL:
        return f"no correlation of ranks shown ({p})"
    return f"ranks {'' if row['spearman'] > 0 else 'inversely '}correlated ({p})"


def _in_both(some: pd.DataFrame, others: pd.DataFrame, y: str) -> Array:
    """The scores of each permutation on two tasks: the same order of the layers, and the same seeds."""
    # Tasks have different rows, which is not a reason not to compare them.
    some, others = (table.drop(columns=["data_digest", "group"], errors="ignore") for table in (some, others))
    orders = [table.get("treatment.order", pd.Series("", table.index)).fillna("") for table in (some, others)]
    scores = []
    for order in dict.fromkeys(orders[0]):
        one, other = some[orders[0] == order], others[orders[1] == order]
        scores += [(one[y].iloc[i], other[y].iloc[j]) for i, j in pairs(one, other)]
    return np.asarray(scores, dtype=float).reshape(-1, 2)
