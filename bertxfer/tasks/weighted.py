"""Metrics of many resamples at once: a resample is how often each dev row was drawn, so rows are counted, not copied.

Each is the same number as in metrics.py would be for the rows written out, for all trials and resamples
in a few matrix products: 10,000 resamples of 10 trials with 1,000 rows take 0.5 s, and 2 s where ranks are needed.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
# Labels of the rows, a line of predictions per trial, a line of weights per resample: a line of scores per resample.
Weighted = Callable[[Array, Array, Array], Array]
_CONSTANT = 1e-12  # a variance below this share of the largest square is the rounding of one that is zero


def mean(labels: Array, values: Array, weights: Array) -> Array:
    """Of values that every row has already, as the answers of a span task have them."""
    return weights @ values.T.astype(float) / weights.sum(axis=1, keepdims=True)


def accuracy(labels: Array, predictions: Array, weights: Array) -> Array:
    return mean(labels, predictions == labels, weights)


def mse(labels: Array, predictions: Array, weights: Array) -> Array:
    return mean(labels, np.square(predictions - labels), weights)


def _counts(labels: Array, predictions: Array, weights: Array, classes: Array) -> tuple[Array, Array, Array]:
    """How often each class was right, was predicted, and is the label, by resample, trial and class."""
    predicted = predictions[:, :, None] == classes
    right = predicted & (labels[:, None] == classes)

    def total(marked: Array) -> Array:
        flat = marked.transpose(1, 0, 2).reshape(len(labels), -1).astype(float)
        return (weights @ flat).reshape(len(weights), len(predictions), len(classes))

    there = (weights @ (labels[:, None] == classes).astype(float))[:, None, :]
    return total(right), total(predicted), there


def f1(labels: Array, predictions: Array, weights: Array) -> Array:
    right, predicted, there = (part[:, :, 0] for part in _counts(labels, predictions, weights, np.array([1])))
    return _where(there > 0, 2 * right, there + predicted)


def macro_f1(labels: Array, predictions: Array, weights: Array) -> Array:
    right, predicted, there = _counts(labels, predictions, weights, np.unique([labels, *predictions]))
    occurs = predicted + there > 0
    return np.asarray(_where(occurs, 2 * right, predicted + there, 0.0).sum(axis=2) / occurs.sum(axis=2))


def matthews(labels: Array, predictions: Array, weights: Array) -> Array:
    """0 for a constant prediction, nan for constant labels."""
    right, predicted, there = _counts(labels, predictions, weights, np.unique([labels, *predictions]))
    rows = weights.sum(axis=1, keepdims=True)
    together = right.sum(axis=2) * rows - (predicted * there).sum(axis=2)
    spreads = (rows**2 - (part**2).sum(axis=2) for part in (predicted, there))
    of_predictions, of_labels = spreads
    scores = _where(of_predictions * of_labels > 0, together, np.sqrt(of_predictions * of_labels), 0.0)
    return np.where(of_labels > 0, scores, math.nan)


def pearson(labels: Array, predictions: Array, weights: Array) -> Array:
    x = labels.astype(float) - labels.mean()
    y = (predictions - predictions.mean(axis=1, keepdims=True)).astype(float)
    mean_x, mean_y = mean(x, x[None], weights), mean(x, y, weights)
    of_x = _variance(mean(x, x[None] ** 2, weights) - mean_x**2, x[None])
    of_y = _variance(mean(x, y**2, weights) - mean_y**2, y)
    return _where(of_x * of_y > 0, mean(x, x * y, weights) - mean_x * mean_y, np.sqrt(of_x * of_y))


def spearman(labels: Array, predictions: Array, weights: Array) -> Array:
    """Correlation of ranks, equal values sharing one, about the middle rank, which is the mean of all."""
    x = _ranks(labels, weights)
    of_x = (weights * x * x).sum(axis=1)
    scores = []
    for own in predictions:
        y = weights * _ranks(own, weights)
        # einsum: no copies of a table with a line per resample
        together = np.einsum("ij,ij->i", x, y)
        of_y = np.einsum("ij,ij->i", y, y / np.maximum(weights, 1))
        scores.append(_where(of_x * of_y > 0, together, np.sqrt(of_x * of_y)))
    return np.stack(scores, axis=1)


def _ranks(values: Array, weights: Array) -> Array:
    """The rank of every row within each resample, from the middle one, which is 0."""
    distinct, which = np.unique(values, return_inverse=True)
    order = np.argsort(which, kind="stable")
    counts = weights[:, order]
    if len(distinct) < len(values):
        counts = np.add.reduceat(counts, np.searchsorted(which[order], np.arange(len(distinct))), axis=1)
    ranks = np.cumsum(counts, axis=1) - (counts - 1) / 2 - (counts.sum(axis=1, keepdims=True) + 1) / 2
    return np.asarray(ranks[:, which])


def _variance(given: Array, values: Array) -> Array:
    return np.where(given > _CONSTANT * np.square(values).max(axis=1), given, 0.0)


def _where(defined: Array, above: Array, below: Array, otherwise: float = math.nan) -> Array:
    """A fraction, where it is defined."""
    return np.where(defined, above / np.where(defined, below, 1.0), otherwise)


def mean_of(*parts: Weighted) -> Weighted:
    return lambda labels, predictions, weights: np.asarray(
        np.mean([part(labels, predictions, weights) for part in parts], axis=0)
    )
