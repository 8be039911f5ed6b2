"""Intervals from the stored predictions: how a score would vary with other seeds and other dev examples.

Seeds and dev examples are drawn again together, with replacement, so that both are counted: a t-interval over seeds
says nothing about the dev set, and a test on one model's predictions nothing about seeds.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bertxfer.errors import BertxferError
from bertxfer.tasks import metrics
from bertxfer.tasks.weighted import Weighted, mean

Array = NDArray[Any]
# With 1,000 the ends moved by up to 1.6 points from one random seed to the next; with 10,000 by less than 0.2.
RESAMPLES = 10_000
_AT_ONCE = 2_000_000  # weights in memory


@dataclass(frozen=True)
class Estimate:
    """A score, or a difference of scores, with its 95% interval."""

    value: float
    low: float
    high: float
    seeds: int
    examples: int
    undefined: int = 0  # resamples without a defined score, which the interval leaves out


def bootstrap(
    predictions: pd.DataFrame,
    trials: Sequence[str],
    metric: str,
    baseline: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Estimate:
    """The mean score of `trials` (or its difference from `baseline`, trial by trial) with a 95% percentile interval.

    `predictions` is what report.stored.predictions reads. Trial i of both lists must be a pair; the order of the
    pairs changes nothing.
    """
    if not trials or (baseline is not None and len(baseline) != len(trials)):
        raise BertxferError(f"bootstrap: {len(trials)} trials and {len(baseline or [])} of the baseline are not pairs")
    sides = [sorted(trials)] if baseline is None else [*zip(*sorted(zip(trials, baseline, strict=True)), strict=True)]
    # A span task stores the score of every answer, and its metrics are their means.
    of_answers = "question" in predictions and metric in predictions
    labels, values = _matrix(predictions, [trial for side in sides for trial in side], metric if of_answers else None)
    score = mean if of_answers else metrics.named(metric).weighted
    if score is None:
        raise BertxferError(
            f"bootstrap: {metric!r} needs the score of every answer, which these predictions do not have"
        )
    rng = np.random.default_rng(seed)
    drawn = _resampled(score, labels, values, len(sides), resamples, rng)
    defined = drawn[~np.isnan(drawn)]
    low, high = np.percentile(defined, [2.5, 97.5]) if len(defined) else (math.nan, math.nan)
    whole = _contrast(score(labels, values, np.ones((1, len(labels)))), np.ones((1, len(trials))), len(sides))
    undefined = len(drawn) - len(defined)
    return Estimate(float(whole[0]), float(low), float(high), len(trials), len(labels), undefined)


def _resampled(
    score: Weighted, labels: Array, values: Array, sides: int, resamples: int, rng: np.random.Generator
) -> Array:
    # Rows with the same label and the same predictions are one row, drawn more often: large dev sets become small ones.
    rows, copies = np.unique(np.vstack([labels, values]), axis=1, return_counts=True)
    examples, trials = len(labels), len(values) // sides
    step = max(1, _AT_ONCE // rows.shape[1])
    parts = []
    for begun in range(0, resamples, step):
        n = min(step, resamples - begun)
        weights = rng.multinomial(examples, copies / examples, size=n).astype(float)
        seeds = rng.multinomial(trials, np.full(trials, 1 / trials), size=n)
        parts.append(_contrast(score(rows[0], rows[1:], weights), seeds, sides))
    return np.concatenate(parts) if parts else np.array([])


def _contrast(scores: Array, seeds: Array, sides: int) -> Array:
    """The mean over the trials that were drawn, minus that of their partners; nan where one of them has no score."""
    trials = seeds.shape[1]
    means = [
        np.where(seeds > 0, seeds * scores[:, side * trials : (side + 1) * trials], 0.0).sum(axis=1) / trials
        for side in range(sides)
    ]
    return np.asarray(means[0] - means[1] if sides > 1 else means[0])


def _matrix(predictions: pd.DataFrame, trials: Sequence[str], column: str | None) -> tuple[Array, Array]:
    """The labels of the dev examples, and a line of predictions, or of the scores in `column`, for each trial."""
    groups = dict(tuple(predictions[predictions["id"].isin(set(trials))].groupby("id", sort=False)))
    rows: Array | None = None
    lines = []
    for trial in trials:
        if trial not in groups:
            raise BertxferError(f"bootstrap: trial {trial} has no stored predictions")
        of_trial = groups[trial].sort_values("index")
        if rows is None:
            rows = of_trial["index"].to_numpy()
            labels = np.zeros(len(of_trial)) if column else of_trial["label"].to_numpy()
        if not np.array_equal(rows, of_trial["index"].to_numpy()):
            raise BertxferError("bootstrap: the trials were measured on different dev sets")
        lines.append(of_trial[column or "prediction"].to_numpy())
    return labels, np.stack(lines)
