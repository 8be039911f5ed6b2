"""Metrics: equal to scikit-learn's and scipy's, and undefined where they are."""

import math

import numpy as np
import pytest
from scipy import stats
from sklearn import metrics as sk

from bertxfer.tasks import metrics
from bertxfer.tasks.kinds import KINDS


@pytest.mark.parametrize("seed", range(5))
def test_equal_to_scikit_learn_and_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    labels, classes = random.integers(0, 2, 200).tolist(), random.integers(0, 2, 200).tolist()
    found = metrics.score("classification", list(metrics.METRICS["classification"]), labels, classes)
    accuracy, f1 = sk.accuracy_score(labels, classes), sk.f1_score(labels, classes)
    assert found == pytest.approx(
        {
            "accuracy": accuracy,
            "f1": f1,
            "macro_f1": sk.f1_score(labels, classes, average="macro"),
            "matthews_correlation": sk.matthews_corrcoef(labels, classes),
            "mean_accuracy_f1": (accuracy + f1) / 2,
        },
        abs=1e-15,
    )
    gold, scores = random.uniform(0, 5, 200).round(1).tolist(), random.normal(size=200).tolist()
    pearson, spearman = stats.pearsonr(gold, scores).statistic, stats.spearmanr(gold, scores).statistic
    assert metrics.score("regression", list(metrics.METRICS["regression"]), gold, scores) == pytest.approx(
        {
            "pearson": pearson,
            "spearman": spearman,
            "mean_pearson_spearman": (pearson + spearman) / 2,
            "mse": sk.mean_squared_error(gold, scores),
        },
        abs=1e-15,
    )


@pytest.mark.parametrize(
    ("kind", "name", "references", "predictions", "value"),
    [
        ("classification", "matthews_correlation", [0, 1, 1, 0], [1, 1, 1, 1], 0.0),
        ("classification", "matthews_correlation", [1, 1, 1], [1, 1, 0], math.nan),
        ("classification", "f1", [0, 0], [0, 0], math.nan),
        ("classification", "f1", [0, 1], [0, 0], 0.0),
        ("classification", "f1", [0, 0], [0, 1], math.nan),
        ("classification", "f1", [1, 1], [0, 1], 2 / 3),
        ("classification", "mean_accuracy_f1", [0, 0], [0, 0], math.nan),
        ("regression", "pearson", [1.0, 2.0, 3.0], [2.0, 2.0, 2.0], math.nan),
        ("regression", "spearman", [1.0, 1.0, 1.0], [1.0, 2.0, 3.0], math.nan),
        ("regression", "mean_pearson_spearman", [1.0, 1.0], [1.0, 2.0], math.nan),
        ("regression", "pearson", [1.0], [2.0], math.nan),
        ("span", "f1_unanswerable", [["a word"]], ["a word"], math.nan),
        ("span", "exact_match_answerable", [[], []], ["", "x"], math.nan),
    ],
)
def test_what_is_not_defined_is_nan_and_never_zero(
    kind: str, name: str, references: list[object], predictions: list[object], value: float
) -> None:
    found = metrics.score(kind, [name], references, predictions)
    assert found == pytest.approx({name: value}, nan_ok=True)


def test_squad_over_all_answerable_and_unanswerable_questions() -> None:
    golds = [["Paris", "the city of Paris"], ["blue whale"], [], []]
    names = list(metrics.METRICS["span"])
    assert metrics.score("span", names, golds, ["in Paris", "a blue whale", "", "nothing"]) == pytest.approx(
        {
            "exact_match": 0.5,
            "exact_match_answerable": 0.5,
            "exact_match_unanswerable": 0.5,
            "f1": (2 / 3 + 1 + 1 + 0) / 4,
            "f1_answerable": (2 / 3 + 1) / 2,
            "f1_unanswerable": 0.5,
        }
    )


def test_every_kind_of_task_has_metrics_and_every_metric_is_of_a_kind() -> None:
    assert set(metrics.METRICS) == set(KINDS)
