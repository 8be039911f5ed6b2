"""Intervals from stored predictions."""

import math
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from bertxfer.errors import BertxferError
from bertxfer.report.bootstrap import bootstrap
from bertxfer.tasks import metrics

Array = NDArray[Any]


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


def written_out(kind: str, name: str, labels: Array, guesses: Array, weights: Array) -> list[list[float]]:
    """Every resample as rows, scored as a trial scores its dev set."""
    drawn = [np.repeat(np.arange(len(labels)), times) for times in weights.astype(int)]
    return [
        [metrics.score(kind, [name], labels[rows].tolist(), own[rows].tolist())[name] for own in guesses]
        for rows in drawn
    ]


@pytest.mark.parametrize("name", list(metrics.METRICS["classification"]))
@pytest.mark.parametrize("classes", [2, 3])
def test_metrics_of_classes_are_those_of_trials(name: str, classes: int) -> None:
    if classes == 3 and name in ("f1", "mean_accuracy_f1"):
        return  # refused by the config
    rng = np.random.default_rng(3)
    labels, guesses = rng.integers(classes, size=12), rng.integers(classes, size=(3, 12))
    guesses[1] = 0  # constant predictions
    weights = rng.multinomial(12, np.full(12, 1 / 12), size=20).astype(float)
    weights[0] = 12.0 * (labels == 0) / (labels == 0).sum()  # constant labels
    expected = written_out("classification", name, labels, guesses, weights)
    assert metrics.named(name).weighted(labels, guesses, weights) == pytest.approx(np.array(expected), nan_ok=True)


@pytest.mark.parametrize("name", list(metrics.METRICS["regression"]))
def test_metrics_of_scores_are_those_of_trials(name: str) -> None:
    rng = np.random.default_rng(4)
    labels, guesses = rng.integers(6, size=30) / 1.0, rng.normal(size=(4, 30))
    guesses[1], guesses[2] = 1.3, rng.integers(4, size=30) / 10  # constant, and with ties
    weights = rng.multinomial(30, np.full(30, 1 / 30), size=20).astype(float)
    weights[0] = 5.0 * (labels == labels[0])  # constant labels
    expected = written_out("regression", name, labels, guesses, weights)
    assert metrics.named(name).weighted(labels, guesses, weights) == pytest.approx(np.array(expected), nan_ok=True)


def realistic(metric: str) -> tuple[pd.DataFrame, list[str], list[str]]:
    """Ten pairs of trials that differ as seeds do, on a dev set of a thousand rows."""
    own, base = [f"own{i}" for i in range(10)], [f"base{i}" for i in range(10)]
    rates = np.random.default_rng(5).normal(0.7, 0.02, 10)
    rows = predictions(dict(zip([*own, *base], [*rates, *(rates + 0.05)], strict=True)), 1000)
    if metric in metrics.METRICS["regression"]:
        noise = np.random.default_rng(6).normal(size=len(rows))
        rows = rows.assign(label=rows["index"] % 26 / 5, prediction=rows["index"] % 26 / 5 + noise)
    return rows, own, base


@pytest.mark.parametrize("metric", ["accuracy", "matthews_correlation", "macro_f1", "mean_pearson_spearman", "mse"])
def test_another_random_seed_moves_no_end_by_two_tenths_of_a_point(metric: str) -> None:
    rows, own, base = realistic(metric)
    started = time.perf_counter()
    one, other = (bootstrap(rows, own, metric, base, seed=seed) for seed in (0, 1))
    assert 100 * abs(one.low - other.low) < 0.2 and 100 * abs(one.high - other.high) < 0.2
    assert one.low != other.low
    # Both took 1.1 s together on one core, and 9 s where ranks are needed.
    assert time.perf_counter() - started < 30


def test_the_order_in_which_trials_are_given_changes_nothing() -> None:
    rows, own, base = realistic("accuracy")
    mixed = np.random.default_rng(7).permutation(10)
    again = bootstrap(
        rows.sample(frac=1, random_state=1), [own[i] for i in mixed], "accuracy", [base[i] for i in mixed]
    )
    assert again == bootstrap(rows, own, "accuracy", base)


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
    with pytest.raises(BertxferError, match="not pairs"):
        bootstrap(rows, ["a"], "accuracy", ["a", "b"])
    with pytest.raises(BertxferError, match="not one of"):
        bootstrap(rows, ["a"], "bleu")
