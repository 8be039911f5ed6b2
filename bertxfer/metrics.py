"""Scores of predictions. What is not defined is nan, never a zero that looks like a score."""

from collections.abc import Callable, Sequence

import numpy as np
from sklearn import metrics as sk


def accuracy(labels: Sequence[int], predictions: Sequence[int]) -> float:
    return float(sk.accuracy_score(labels, predictions))


def matthews_correlation(labels: Sequence[int], predictions: Sequence[int]) -> float:
    """0 for a constant prediction, by the convention that CoLA's scores follow; nan where the labels are constant."""
    if len(set(labels)) < 2:
        return float("nan")
    return float(sk.matthews_corrcoef(labels, predictions))


METRICS: dict[str, Callable[[Sequence[int], Sequence[int]], float]] = {
    "accuracy": accuracy,
    "matthews_correlation": matthews_correlation,
}


def score(names: Sequence[str], labels: Sequence[int], logits: np.ndarray) -> dict[str, float]:
    """Every metric of a task."""
    predictions = logits.argmax(axis=1).tolist()
    return {name: METRICS[name](labels, predictions) for name in names}
