"""Scores of predictions. What is not defined is nan, never a zero that looks like a score."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import datasets
import evaluate
import numpy as np
from scipy import stats
from sklearn import metrics as sk

from bertxfer import answers

_CLASS, _SCORE = datasets.Value("int64"), datasets.Value("float64")


class _Metric(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` metric that asks no network and writes nothing to disk."""

    feature: Any = _CLASS

    def __init__(self) -> None:
        super().__init__(keep_in_memory=True)

    def _build_data_dir(self) -> str:
        return ""  # evaluate would make a folder for every metric in the user's home

    def _info(self) -> evaluate.MetricInfo:
        features = datasets.Features({"predictions": self.feature, "references": self.feature})
        return evaluate.MetricInfo(description=type(self).__doc__ or "", citation="", features=features)


class Accuracy(_Metric):
    """The share of right predictions."""

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        return {"accuracy": float(sk.accuracy_score(references, predictions))}


class F1(_Metric):
    """Harmonic mean of precision and recall of the second of two classes; nan where no label is of that class.

    Recall is 0/0 then, and no prediction could raise the 0 that scikit-learn gives as soon as one is of that class.
    """

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        defined = 1 in references
        return {"f1": float(sk.f1_score(references, predictions, pos_label=1)) if defined else math.nan}


class MacroF1(_Metric):
    """The unweighted mean of the F1 of every class that occurs."""

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        return {"macro_f1": float(sk.f1_score(references, predictions, average="macro", zero_division=np.nan))}


class MatthewsCorrelation(_Metric):
    """0 for a constant prediction, by the convention that CoLA's scores follow; nan where the labels are constant."""

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        defined = len(set(references)) > 1
        return {"matthews_correlation": float(sk.matthews_corrcoef(references, predictions)) if defined else math.nan}


class MeanAccuracyF1(_Metric):
    """The mean of accuracy and F1, as GLUE reports MRPC and QQP."""

    def _compute(self, predictions: Sequence[int], references: Sequence[int]) -> dict[str, float]:
        parts = (METRICS["classification"][name] for name in ("accuracy", "f1"))
        return {"mean_accuracy_f1": _mean([_value(part, predictions, references) for part in parts])}


class Pearson(_Metric):
    """Linear correlation; nan where one side is constant."""

    feature = _SCORE

    def _compute(self, predictions: Sequence[float], references: Sequence[float]) -> dict[str, float]:
        defined = _varies(predictions) and _varies(references)
        return {"pearson": float(stats.pearsonr(references, predictions).statistic) if defined else math.nan}


class Spearman(_Metric):
    """Correlation of ranks; nan where one side is constant."""

    feature = _SCORE

    def _compute(self, predictions: Sequence[float], references: Sequence[float]) -> dict[str, float]:
        defined = _varies(predictions) and _varies(references)
        return {"spearman": float(stats.spearmanr(references, predictions).statistic) if defined else math.nan}


class MeanPearsonSpearman(_Metric):
    """The mean of the two correlations, as GLUE reports STS-B."""

    feature = _SCORE

    def _compute(self, predictions: Sequence[float], references: Sequence[float]) -> dict[str, float]:
        parts = (METRICS["regression"][name] for name in ("pearson", "spearman"))
        return {"mean_pearson_spearman": _mean([_value(part, predictions, references) for part in parts])}


class MeanSquaredError(_Metric):
    """The mean squared difference of scores."""

    feature = _SCORE

    def _compute(self, predictions: Sequence[float], references: Sequence[float]) -> dict[str, float]:
        return {"mse": float(sk.mean_squared_error(references, predictions))}


class Squad(_Metric):
    """Exact match and F1 of answers, over all, answerable and unanswerable questions."""

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        features = datasets.Features({"predictions": text, "references": datasets.Sequence(text)})
        return evaluate.MetricInfo(description=type(self).__doc__ or "", citation="", features=features)

    def _compute(self, predictions: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
        answerable = [bool(golds) for golds in references]
        values: dict[str, float] = {}
        for name, score in (("exact_match", answers.exact_match), ("f1", answers.f1)):
            scores = [score(text, golds) for text, golds in zip(predictions, references, strict=True)]
            values[name] = _mean(scores)
            for group, wanted in (("answerable", True), ("unanswerable", False)):
                chosen = [s for s, has_answer in zip(scores, answerable, strict=True) if has_answer == wanted]
                values[f"{name}_{group}"] = _mean(chosen)
        return values


# By the kind of task and the name that a config gives them. Squad has six names.
METRICS: dict[str, dict[str, type[_Metric]]] = {
    "classification": {
        "accuracy": Accuracy,
        "f1": F1,
        "macro_f1": MacroF1,
        "matthews_correlation": MatthewsCorrelation,
        "mean_accuracy_f1": MeanAccuracyF1,
    },
    "regression": {
        "pearson": Pearson,
        "spearman": Spearman,
        "mean_pearson_spearman": MeanPearsonSpearman,
        "mse": MeanSquaredError,
    },
    "span": {
        f"{name}{group}": Squad for name in ("exact_match", "f1") for group in ("", "_answerable", "_unanswerable")
    },
}


def score(kind: str, names: Sequence[str], references: Sequence[Any], predictions: Sequence[Any]) -> dict[str, float]:
    """The named metrics of a task of that kind."""
    values: dict[str, float] = {}
    for metric in dict.fromkeys(METRICS[kind][name] for name in names):
        values |= metric().compute(predictions=predictions, references=references)
    return {name: values[name] for name in names}


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


def _value(metric: type[_Metric], predictions: Sequence[Any], references: Sequence[Any]) -> float:
    (value,) = metric()._compute(predictions, references).values()
    return float(value)


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _varies(values: Sequence[float]) -> bool:
    return len(set(values)) > 1
