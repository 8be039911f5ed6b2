"""Statistics of scores: intervals, paired differences, corrections for many tests.

Pure functions over arrays and tables. A score that is not defined (NaN) is left out of every number here, and counted.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from bertxfer.report.frame import select
from bertxfer.report.intervals import half_width
from bertxfer.report.pairs import pairs

Array = NDArray[Any]
LEVEL = 0.05
# The sign-flip test of n pairs cannot give less than 2 / 2**n: below 0.05 from six pairs on.
FEWEST_PAIRS = 6
THE_BASELINE = "the baseline"  # what sentences call one that was given no name
_FLIPS = 9999


@dataclass(frozen=True)
class Summary:
    """Scores of one place over seeds. low and high are NaN where there are too few for an interval."""

    n: int
    undefined: int
    mean: float
    sd: float
    median: float
    low: float
    high: float
    min: float
    max: float


def summary(scores: Iterable[float], interval: str = "t95") -> Summary:
    """Mean, sd (ddof 1) and median with the chosen interval: t95, sd2 (two sd), or paper_code as it was published."""
    every = np.asarray(list(scores), dtype=float)
    values = every[~np.isnan(every)]
    if not len(values):
        return Summary(0, len(every), *[math.nan] * 7)
    mean = float(values.mean())
    sd = float(values.std(ddof=1)) if len(values) > 1 else math.nan
    half = half_width(values, interval)
    lowest, highest = float(values.min()), float(values.max())
    median = float(np.median(values))
    return Summary(len(values), len(every) - len(values), mean, sd, median, mean - half, mean + half, lowest, highest)


def summarize(results: pd.DataFrame, by: Sequence[str], y: str = "score", interval: str = "t95") -> pd.DataFrame:
    """One row per group: its columns, n, undefined, mean, sd, median, low, high, min, max. Order as in the table."""
    rows = []
    for key, group in groups(ended(results, by), by):
        rows.append({**key, **vars(summary(group[y], interval))})
    return pd.DataFrame(rows, columns=[*by, *Summary.__dataclass_fields__])


@dataclass(frozen=True)
class Baseline:
    """What groups are compared with: its name in a sentence, its trials, and the columns that both have in common."""

    name: str
    where: Mapping[str, Any]
    within: Sequence[str]


def differences(
    results: pd.DataFrame, by: Sequence[str], baseline: Mapping[str, Any], within: Sequence[str], y: str = "score"
) -> pd.DataFrame:
    """Each group minus one baseline, which needs no name."""
    return differences_from([Baseline(THE_BASELINE, baseline, within)], results, by, y)


def differences_from(
    baselines: Sequence[Baseline],
    results: pd.DataFrame,
    by: Sequence[str],
    y: str = "score",
    where: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Each group minus each baseline, pair by pair: same seeds, so same rows, order of batches and classifier.

    `by` are the columns of a group; only trials that `where` selects are in one. All groups and baselines are one
    family: p_holm and p_bh correct p_t for as many tests as a claim may be made from. A baseline that was compared with
    another one is not compared with it the other way round, which would be the same test twice.
    """
    rows, made = [], set()
    chosen = ended(select(results, where or {}), by)
    for baseline in baselines:
        base = ended(select(results, baseline.where), baseline.within)
        for key, group in groups(chosen, by):
            partners = select(base, {column: key[column] for column in baseline.within})
            sides = frozenset(group["id"]), frozenset(partners["id"])
            if sides[0] <= sides[1] or sides[::-1] in made:
                continue  # the baseline itself, or the same test from the other side
            made.add(sides)
            values, unpaired, undefined = _pairs(group, partners, y)
            counts = {"unpaired": unpaired, "undefined": undefined}
            rows.append({**key, "baseline": baseline.name, **counts, **_difference(values)})
    columns = [*by, "baseline", "unpaired", "undefined", *_difference(np.array([]))]
    table = pd.DataFrame(rows, columns=columns)
    # No claim is made from too few pairs, so their test costs the others nothing.
    tests = table["p_t"].where(table["n"] >= FEWEST_PAIRS)
    table["p_holm"], table["p_bh"] = adjusted(tests, "holm"), adjusted(tests, "fdr_bh")
    table["words"] = [in_words(row) for row in table.to_dict("records")]
    return table


def adjusted(p_values: Iterable[float], method: str) -> Array:
    """p-values corrected over their family: holm or fdr_bh. A test that was not made (NaN) is not in the family."""
    raw = np.asarray(list(p_values), dtype=float)
    corrected = np.full(len(raw), math.nan)
    made = ~np.isnan(raw)
    if made.any():
        corrected[made] = multipletests(raw[made], method=method)[1]
    return corrected


def paired(differences: Sequence[float] | Array, seed: int = 0) -> dict[str, float]:
    """Three tests of differences against zero: paired t, Wilcoxon, and flipped signs (exact up to 13 pairs)."""
    values = np.asarray(differences, dtype=float)
    if len(values) < 2:
        return {"p_t": math.nan, "p_wilcoxon": math.nan, "p_permutation": math.nan}
    if not values.any():
        return {"p_t": 1.0, "p_wilcoxon": 1.0, "p_permutation": 1.0}
    # Without spread t has no distribution: a p of zero from two equal differences would be a lie.
    p_t = math.nan if flat(values) else float(stats.ttest_1samp(values, 0.0).pvalue)
    return {"p_t": p_t, "p_wilcoxon": _wilcoxon(values), "p_permutation": sign_flips(values, seed)}


def _wilcoxon(values: Array) -> float:
    """Signed ranks. scipy's own where it has a formula; few pairs with ties are flipped, which takes it 0.1 s."""
    nonzero = values[values != 0]
    if 2 ** len(values) > _FLIPS:
        return float(stats.wilcoxon(values).pvalue)
    return sign_flips(np.sign(nonzero) * stats.rankdata(np.abs(nonzero)))


def sign_flips(values: Array, seed: int = 0) -> float:
    """How often flipped signs give a mean as far from zero, two-sided: of all flips, or of 9,999 random ones.

    scipy's permutation_test says the same, but makes flip after flip in Python: 0.13 s for 97 pairs, here 0.009 s.
    """
    n = len(values)
    exact = 2**n <= _FLIPS
    if exact:
        signs = 1.0 - 2.0 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    else:
        signs = np.where(np.random.default_rng(seed).random((_FLIPS, n)) < 0.5, 1.0, -1.0)
    near = 1 - 100 * float(np.finfo(float).eps)  # sums of the same numbers in another order differ in their last bits
    as_far = int((np.abs(signs @ values) >= near * abs(values.sum())).sum())
    return as_far / len(signs) if exact else (as_far + 1) / (len(signs) + 1)


def in_words(row: Mapping[str, Any]) -> str:
    """What a row of `differences` shows, in words."""
    without = int(row.get("undefined", 0))
    sentence = _sentence(row, int(row["n"]))
    return f"{sentence}; {without} of {without + int(row['n'])} pairs have no defined score" if without else sentence


def _sentence(row: Mapping[str, Any], n: int) -> str:
    if n < 2:
        return f"{counted(n, 'pair')}: nothing can be said about a difference"
    direction = "higher" if row["mean"] > 0 else "lower"
    than = row.get("baseline", THE_BASELINE)
    size = f"{abs(100 * row['mean']):.1f} points {direction} than {than}" if row["mean"] else f"as {than}"
    if n < FEWEST_PAIRS:
        return f"{size} in {n} pairs: too few for a claim"
    if math.isnan(row["p_holm"]):
        return f"{size} in every one of {n} pairs: the t-test needs some spread"
    p = f"p {p_words(row['p_holm'])} after Holm's correction, {n} pairs"
    interval = f"95% interval {100 * row['low']:.1f} to {100 * row['high']:.1f}"
    if row["p_holm"] < LEVEL:
        return f"{size} ({interval}; {p})"
    return f"no difference from {than} shown ({p}; {interval} points)"


def quartiles(values: pd.DataFrame, by: str, y: str, apart: Sequence[str] = ()) -> pd.DataFrame:
    """cs224n2020's summaries: count, mean, sd, min, quartiles, max of `y` for each value of `by`, and of `apart`."""
    rows = []
    for key, part in groups(values, apart):
        for value, group in part.groupby(by, sort=True):
            rows.append({**key, by: value, **group[y].astype(float).describe().rename({"std": "sd"})})
    return pd.DataFrame(rows, columns=[*apart, by, "count", "mean", "sd", "min", "25%", "50%", "75%", "max"])


def _difference(values: Array) -> dict[str, Any]:
    whole = summary(values)
    spread = whole.n > 1 and not flat(values)
    return {
        "n": whole.n,
        "mean": whole.mean,
        "sd": whole.sd,
        "low": whole.low,
        "high": whole.high,
        "effect": whole.mean / whole.sd if spread else math.nan,  # Cohen's d of paired differences
        **paired(values),
    }


def _pairs(group: pd.DataFrame, base: pd.DataFrame, y: str) -> tuple[Array, int, int]:
    """Differences of the trials that have a partner, how many have none, and in how many a score is not defined."""
    both = pairs(group, base)
    mine, theirs = ([pair[side] for pair in both] for side in (0, 1))
    values = group[y].to_numpy(dtype=float)[mine] - base[y].to_numpy(dtype=float)[theirs]
    defined = values[~np.isnan(values)]
    return defined, len(group) - len(set(mine)), len(values) - len(defined)


def ended(results: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Trials that have ended, each once in its group even where several points mean it."""
    ended = results[results["state"] == "done"]
    return ended.drop_duplicates([*dict.fromkeys([*by, "id"])])


def groups(results: pd.DataFrame, by: Sequence[str]) -> Iterable[tuple[dict[str, Any], pd.DataFrame]]:
    """The rows that have the same values in `by`, under these values."""
    if not by:
        return [({}, results)]
    parts = results.groupby(list(by), sort=False, dropna=False)
    return ((dict(zip(by, values, strict=True)), part) for values, part in parts)


def flat(values: Array) -> bool:
    """Equal up to the last bits of a subtraction."""
    return bool(np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())))


def p_words(value: float) -> str:
    """As a sentence says it."""
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def counted(n: int, noun: str) -> str:
    """How many there are of a thing."""
    return f"{n} {noun}{'' if n == 1 else 's'}" if n else f"no {noun}"
