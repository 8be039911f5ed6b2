"""Intervals from the stored predictions: how a score would vary with other seeds and other dev examples.

Seeds and dev examples are drawn again together, with replacement, so that both are counted: a t-interval over seeds
says nothing about the dev set, and a test on one model's predictions nothing about seeds.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import matthews_corrcoef

from bertxfer.errors import BertxferError

Array = NDArray[Any]
Metric = Callable[[Array, Array], float]  # labels, predictions


@dataclass(frozen=True)
class Interval:
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
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """The mean score of `trials` (or its difference from `baseline`, trial by trial) with a 95% percentile interval.

    `predictions` is what report.frame.predictions reads. Trial i of both lists must be a pair.
    """
    if not trials or (baseline is not None and len(baseline) != len(trials)):
        raise BertxferError(f"bootstrap: {len(trials)} trials and {len(baseline or [])} of the baseline are no pairs")
    of_answers = "question" in predictions and metric in predictions  # a span task stores the score of every answer
    rows, labels, own = _matrix(predictions, trials, metric if of_answers else "prediction")
    parts = [own]
    if baseline is not None:
        other_rows, _, others = _matrix(predictions, baseline, metric if of_answers else "prediction")
        _refuse_other_dev_sets(rows, other_rows)
        parts.append(others)
    score: Metric = (lambda labels, values: float(values.mean())) if of_answers else metric_of(metric)

    def value(seeds: Any, examples: Any) -> float:
        means = [np.mean([score(labels[examples], part[i, examples]) for i in seeds]) for part in parts]
        return float(means[0] - (means[1] if len(means) > 1 else 0.0))

    rng, (n, size) = np.random.default_rng(seed), own.shape
    drawn = [value(rng.integers(n, size=n), rng.integers(size, size=size)) for _ in range(resamples)]
    found = [one for one in drawn if not math.isnan(one)]
    low, high = np.percentile(found, [2.5, 97.5]) if found else (math.nan, math.nan)
    return Interval(value(range(n), slice(None)), float(low), float(high), n, size, len(drawn) - len(found))


def metric_of(name: str) -> Metric:
    """A metric of predictions, as metrics.py defines it but many times faster: a bootstrap takes thousands of them."""
    if name not in _METRICS:
        raise BertxferError(f"bootstrap: {name!r} is not one of {', '.join(_METRICS)}")
    return _METRICS[name]


def _matrix(predictions: pd.DataFrame, trials: Sequence[str], column: str) -> tuple[Array, Array, Array]:
    """The dev examples, their labels, and a row of predictions for each trial."""
    found: list[tuple[Array, Array, Array]] = []
    groups = dict(tuple(predictions[predictions["id"].isin(set(trials))].groupby("id", sort=False)))
    for trial in trials:
        if trial not in groups:
            raise BertxferError(f"bootstrap: trial {trial} has no stored predictions")
        own = groups[trial].sort_values("index")
        found.append((own["index"].to_numpy(), own["label"].to_numpy(), own[column].to_numpy()))
        _refuse_other_dev_sets(found[0][0], found[-1][0])
    return found[0][0], found[0][1], np.stack([row for _, _, row in found])


def _refuse_other_dev_sets(rows: Array, others: Array) -> None:
    if not np.array_equal(rows, others):
        raise BertxferError("bootstrap: the trials were measured on different dev sets")


def _accuracy(labels: Array, predictions: Array) -> float:
    return float(np.mean(labels == predictions))


def _f1(labels: Array, predictions: Array) -> float:
    positive = np.sum(labels == 1)
    both, either = np.sum((labels == 1) & (predictions == 1)), positive + np.sum(predictions == 1)
    return float(2 * both / either) if positive else math.nan


def _matthews(labels: Array, predictions: Array) -> float:
    """0 for a constant prediction, nan for constant labels."""
    if labels.min() == labels.max():
        return math.nan
    if predictions.min() == predictions.max():
        return 0.0
    if max(labels.max(), predictions.max()) > 1:
        return float(matthews_corrcoef(labels, predictions))
    return float(np.corrcoef(labels, predictions)[0, 1])  # the same number for two classes, and 20 times faster


def _pearson(labels: Array, predictions: Array) -> float:
    flat = labels.min() == labels.max() or predictions.min() == predictions.max()
    return math.nan if flat else float(np.corrcoef(labels, predictions)[0, 1])


def _spearman(labels: Array, predictions: Array) -> float:
    return _pearson(stats.rankdata(labels), stats.rankdata(predictions))


def _mean(*parts: Metric) -> Metric:
    return lambda labels, predictions: float(np.mean([part(labels, predictions) for part in parts]))


_METRICS: dict[str, Metric] = {
    "accuracy": _accuracy,
    "f1": _f1,
    "mean_accuracy_f1": _mean(_accuracy, _f1),
    "matthews_correlation": _matthews,
    "pearson": _pearson,
    "spearman": _spearman,
    "mean_pearson_spearman": _mean(_pearson, _spearman),
}
