"""Scores of predictions. What is not defined is nan, never a zero that looks like a score."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bertxfer.errors import BertxferError
from bertxfer.tasks import answers, weighted
from bertxfer.tasks.weighted import Weighted

Score = Callable[[Sequence[Any], Sequence[Any]], float]  # of references and predictions


@dataclass(frozen=True)
class Metric:
    name: str  # in configs and results
    label: str  # in figures and tables
    score: Score
    weighted: Weighted | None = None  # the same over many resamples at once; none where rows have scores of their own
    two_classes: bool = False  # scores the second of two classes
    lowest: float = 0.0  # what it can be
    highest: float = 1.0


METRICS: dict[str, dict[str, Metric]] = {}  # by the kind of task


def metric(
    kind: str,
    label: str,
    weighted: Weighted | None = None,
    name: str | None = None,
    two_classes: bool = False,
    lowest: float = 0.0,
    highest: float = 1.0,
) -> Callable[[Score], Score]:
    """Registers a function as the metric of its name."""

    def register(function: Score) -> Score:
        full_name = name or function.__name__
        METRICS.setdefault(kind, {})[full_name] = Metric(
            full_name, label, function, weighted, two_classes, lowest, highest
        )
        return function

    return register


# Plain functions of references and predictions. scikit-learn and scipy are imported where they are used: they take
# 1.3 s and 117 MB, which a worker that measures accuracy need not spend.


@metric("classification", "accuracy", weighted.accuracy)
def accuracy(references: Sequence[int], predictions: Sequence[int]) -> float:
    """The share of right predictions."""
    return float(np.mean(np.equal(references, predictions)))


@metric("classification", "F1", weighted.f1, two_classes=True)
def f1(references: Sequence[int], predictions: Sequence[int]) -> float:
    """Harmonic mean of precision and recall of the second of two classes; nan where no label is of that class.

    Recall is 0/0 then, and no prediction could raise the 0 that scikit-learn gives as soon as one is of that class.
    """
    from sklearn.metrics import f1_score

    return float(f1_score(references, predictions, pos_label=1)) if 1 in references else math.nan


@metric("classification", "macro F1", weighted.macro_f1)
def macro_f1(references: Sequence[int], predictions: Sequence[int]) -> float:
    """The unweighted mean of the F1 of every class that occurs."""
    from sklearn.metrics import f1_score

    return float(f1_score(references, predictions, average="macro", zero_division=np.nan))


@metric("classification", "Matthews correlation", weighted.matthews, lowest=-1.0)
def matthews_correlation(references: Sequence[int], predictions: Sequence[int]) -> float:
    """0 for a constant prediction, by the convention that CoLA's scores follow; nan where the labels are constant."""
    from sklearn.metrics import matthews_corrcoef

    return float(matthews_corrcoef(references, predictions)) if _varies(references) else math.nan


@metric("classification", "mean of accuracy and F1", weighted.mean_of(weighted.accuracy, weighted.f1), two_classes=True)
def mean_accuracy_f1(references: Sequence[int], predictions: Sequence[int]) -> float:
    """The mean of accuracy and F1, as GLUE reports MRPC and QQP."""
    return _mean([accuracy(references, predictions), f1(references, predictions)])


@metric("regression", "Pearson correlation", weighted.pearson, lowest=-1.0)
def pearson(references: Sequence[float], predictions: Sequence[float]) -> float:
    """Linear correlation; nan where one side is constant."""
    from scipy import stats

    defined = _varies(predictions) and _varies(references)
    return float(stats.pearsonr(references, predictions).statistic) if defined else math.nan


@metric("regression", "Spearman correlation", weighted.spearman, lowest=-1.0)
def spearman(references: Sequence[float], predictions: Sequence[float]) -> float:
    """Correlation of ranks; nan where one side is constant."""
    from scipy import stats

    defined = _varies(predictions) and _varies(references)
    return float(stats.spearmanr(references, predictions).statistic) if defined else math.nan


@metric(
    "regression", "mean of Pearson and Spearman", weighted.mean_of(weighted.pearson, weighted.spearman), lowest=-1.0
)
def mean_pearson_spearman(references: Sequence[float], predictions: Sequence[float]) -> float:
    """The mean of the two correlations, as GLUE reports STS-B."""
    return _mean([pearson(references, predictions), spearman(references, predictions)])


@metric("regression", "mean squared error", weighted.mse, highest=math.inf)
def mse(references: Sequence[float], predictions: Sequence[float]) -> float:
    """The mean squared difference of scores."""
    return float(np.mean(np.square(np.subtract(references, predictions))))


def _of_answers(score_answer: Callable[[str, Sequence[str]], float], answerable: bool | None) -> Score:
    """The mean score of predicted answers: over all questions, or over those that have an answer, or have none."""

    def mean(references: Sequence[Sequence[str]], predictions: Sequence[str]) -> float:
        chosen = zip(references, predictions, strict=True)
        return _mean(
            [score_answer(text, golds) for golds, text in chosen if answerable is None or bool(golds) == answerable]
        )

    return mean


_ANSWERS: dict[str, tuple[str, Callable[[str, Sequence[str]], float]]] = {
    "exact_match": ("exact match", answers.exact_match),
    "f1": ("F1", answers.f1),
}
for _name, (_label, _score_answer) in _ANSWERS.items():
    metric("span", _label, name=_name)(_of_answers(_score_answer, None))
    for _group, _answerable in (("answerable", True), ("unanswerable", False)):
        metric("span", f"{_label}, {_group}", name=f"{_name}_{_group}")(_of_answers(_score_answer, _answerable))


def named(name: str) -> Metric:
    """A metric by its name alone, for results that do not say the kind of their task; F1 is then that of classes."""
    known = {**METRICS["span"], **METRICS["regression"], **METRICS["classification"]}
    if name not in known:
        raise BertxferError(f"the metric {name!r} is not one of {', '.join(known)}")
    return known[name]


def score(kind: str, names: Sequence[str], references: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
    """The named metrics of a task of that kind."""
    return {name: METRICS[kind][name].score(references, predictions) for name in names}


def from_predictions(
    kind: str, names: Sequence[str], columns: Mapping[str, Sequence[Any]]
) -> tuple[dict[str, float], dict[str, str]]:
    """The named metrics of a table of predictions, and why some of them are not defined."""
    references, predictions = columns["label"], columns["prediction"]
    scores = score(kind, names, references, predictions)
    return scores, why_undefined(scores, references, predictions)


def why_undefined(scores: Mapping[str, float], references: Sequence[Any], predictions: Sequence[Any]) -> dict[str, str]:
    """For every score that is nan, what it would take to be a number."""
    return {name: _why(name, references, predictions) for name, value in scores.items() if math.isnan(value)}


def _why(name: str, references: Sequence[Any], predictions: Sequence[Any]) -> str:
    if name.endswith(("_answerable", "_unanswerable")):
        return f"the dev set has no {name.rpartition('_')[2]} question"
    if len(references) < 2:
        return "the dev set has one row"
    if not _varies(references):
        return f"all {len(references)} labels of the dev set are {references[0]}"
    if not _varies(predictions):
        return f"all {len(predictions)} predictions are {predictions[0]}"
    return "it has no value for these predictions"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _varies(values: Sequence[float]) -> bool:
    return len(set(values)) > 1
