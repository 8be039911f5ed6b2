"""Intervals from stored predictions."""

import math

import numpy as np
import pandas as pd
import pytest

from bertxfer.errors import BertxferError
from bertxfer.report.bootstrap import bootstrap, metric_of
from bertxfer.tasks import metrics


def predictions(rates: dict[str, float], examples: int = 400, seed: int = 0) -> pd.DataFrame:
    """Trials that are right on so many of the same dev examples; who is right where is chance."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=examples)
    tables = []
    for trial, rate in rates.items():
        right = rng.random(examples) < rate
        predicted = np.where(right, labels, 1 - labels)
        tables.append(pd.DataFrame({"id": trial, "index": range(examples), "label": labels, "prediction": predicted}))
    return pd.concat(tables, ignore_index=True)


def test_the_interval_has_the_spread_of_one_models_dev_set() -> None:
    """One seed leaves only the dev examples: the binomial's own interval."""
    found = bootstrap(predictions({"a": 0.8}), ["a"], "accuracy", resamples=4000)
    half = 1.96 * math.sqrt(found.value * (1 - found.value) / 400)
    assert (found.low, found.high) == pytest.approx((found.value - half, found.value + half), abs=0.006)
    assert (found.seeds, found.examples) == (1, 400)


def test_seeds_that_differ_widen_it() -> None:
    rows = predictions({"a": 0.6, "b": 0.8, "c": 0.95})
    alone = bootstrap(rows, ["b"], "accuracy")
    together = bootstrap(rows, ["a", "b", "c"], "accuracy")
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_differences_are_taken_trial_by_trial_on_the_same_examples() -> None:
    rows = predictions({"a": 0.9, "b": 0.9})
    same = rows.assign(id=rows["id"] + "_copy")
    found = bootstrap(pd.concat([rows, same]), ["a", "b"], "accuracy", ["a_copy", "b_copy"])
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
    worse = predictions({"a": 0.9, "b": 0.9, "c": 0.6, "d": 0.6})
    drop = bootstrap(worse, ["c", "d"], "accuracy", ["a", "b"])
    assert drop.value == pytest.approx(-0.3, abs=0.05) and drop.high < 0


@pytest.mark.parametrize("name", ["accuracy", "f1", "mean_accuracy_f1", "matthews_correlation"])
@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_classes_are_those_of_trials(name: str, classes: int) -> None:
    if classes == 3 and "f1" in name:
        return  # refused by the config
    rng = np.random.default_rng(3)
    for _ in range(5):
        labels, guesses = rng.integers(classes, size=60), rng.integers(classes, size=60)
        expected = metrics.score("classification", [name], labels.tolist(), guesses.tolist())[name]
        assert metric_of(name)(labels, guesses) == pytest.approx(expected)
    constant = metrics.score("classification", [name], labels.tolist(), [0] * 60)[name]
    assert metric_of(name)(labels, np.zeros(60, int)) == pytest.approx(constant)


@pytest.mark.parametrize("name", ["pearson", "spearman", "mean_pearson_spearman"])
def test_metrics_of_scores_are_those_of_trials(name: str) -> None:
    rng = np.random.default_rng(4)
    labels, guesses = rng.integers(6, size=80) / 1.0, rng.normal(size=80)
    expected = metrics.score("regression", [name], labels.tolist(), guesses.tolist())[name]
    assert metric_of(name)(labels, guesses) == pytest.approx(expected)
    assert math.isnan(metric_of(name)(labels, np.ones(80)))


def test_answers_are_resampled_by_their_stored_scores() -> None:
    rows = pd.DataFrame({"id": "a", "index": range(4), "question": list("wxyz"), "label": [["t"]] * 4})
    rows = rows.assign(prediction="t", f1=[1.0, 0.5, 0.0, 0.5])
    assert bootstrap(rows, ["a"], "f1").value == 0.5


def test_what_cannot_be_compared_is_refused() -> None:
    rows = predictions({"a": 0.9, "b": 0.9})
    with pytest.raises(BertxferError, match="no stored predictions"):
        bootstrap(rows, ["a", "c"], "accuracy")
    with pytest.raises(BertxferError, match="different dev sets"):
        bootstrap(rows[~((rows["id"] == "b") & (rows["index"] == 3))], ["a", "b"], "accuracy")
    with pytest.raises(BertxferError, match="no pairs"):
        bootstrap(rows, ["a"], "accuracy", ["a", "b"])
    with pytest.raises(BertxferError, match="not one of"):
        bootstrap(rows, ["a"], "bleu")
