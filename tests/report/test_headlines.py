"""One trial, several metrics: which one is looked at is no part of its id, and every number says which one it is."""

import dataclasses
import json
from pathlib import Path

import pandas as pd
import pytest

from bertxfer.errors import Interrupted
from bertxfer.learning import run
from bertxfer.store.store import Store
from tests.helpers.commands import Run, tiny_words
from tests.helpers.running import RUNTIME, trial

SMALL = ("data.n=64", "data.dev_n=80", "optimizer.lr=1e-3", "training.epochs=2", "hydra/launcher=inline")
BOTH = "task.headline=matthews_correlation,accuracy"


def results(tmp_path: Path) -> list[dict[str, object]]:
    return [json.loads(path.read_text()) for path in (tmp_path / "out" / "trials").glob("*/result.json")]


def test_a_trial_that_is_resumed_for_another_metric_is_scored_by_it(shallow_model: Path, tmp_path: Path) -> None:
    """Its checkpoint of the last step has the evaluation, by the metrics that were asked for then."""
    words = (*tiny_words(shallow_model), "task=mini_cola", "data.n=16", "data.dev_n=60", "training.epochs=2")
    first = trial(*words, "task.metrics=[matthews_correlation]", "task.headline=matthews_correlation")
    later = trial(*words, "task.metrics=[matthews_correlation,accuracy]", "task.headline=accuracy")
    assert first.id == later.id
    store, steps = Store(tmp_path), iter(range(100))
    runtime = dataclasses.replace(RUNTIME, checkpoint_seconds=0)
    with pytest.raises(Interrupted):
        run.run(first, store, runtime, stop=lambda: next(steps) >= 4)  # asked once before the first of four steps
    found = run.run(later, store, runtime)
    assert found["resumed_at_step"] == 4 and found["headline"] == "accuracy"
    predictions = pd.read_parquet(store.folder(later.id) / "predictions.parquet")
    assert found["score"] == found["metrics"]["accuracy"] == (predictions["label"] == predictions["prediction"]).mean()


def test_courses_of_two_metrics_are_apart(bertxfer: Run, tmp_path: Path) -> None:
    words = ("-m", "task=mini_cola", *SMALL, "scheme=incremental", "k=12,6", BOTH, "training.evaluate=every")
    assert bertxfer(*words).returncode == 0
    drawn = (
        "figure.kind=epochs",
        "figure.x=epoch",
        "figure.series=k",
        "figure.facets=task",
        "figure.tables=[by_epoch]",
    )
    ended = bertxfer("report", *words, *drawn)
    assert ended.returncode == 0, ended.stderr
    (folder,) = (tmp_path / "out" / "reports").iterdir()
    table = pd.read_csv(folder / "tables" / "by_epoch.csv").set_index(["k", "measure", "epoch"])["mean"]
    assert len(table) == 2 * 2 * 2
    for found in results(tmp_path):
        k = 12 if found["treatment_text"] == "as pretrained" else 6
        for name, value in found["metrics"].items():  # type: ignore[attr-defined]
            assert table[k, name, 2] == pytest.approx(value)
    figure = pd.read_csv(folder / "figures" / "figure-1.csv")
    assert figure.groupby("facet").size().to_dict() == {
        "mini_cola (Matthews correlation)": 4,
        "mini_cola (accuracy)": 4,
    }
    ends = figure[(figure["epoch"] == 2) & (figure["facet"] == "mini_cola (accuracy)")]
    assert sorted(ends["y"]) == pytest.approx(sorted(one["metrics"]["accuracy"] for one in results(tmp_path)))  # type: ignore[index]


def test_status_and_terminal_name_the_metric_and_mix_none(bertxfer: Run, tmp_path: Path) -> None:
    """Two trials were run for MCC and two for accuracy; a third sweep asks all four for MCC."""
    common = ("-m", "task=mini_cola", *SMALL)
    assert bertxfer(*common, "seed=0,1").returncode == 0
    assert bertxfer(*common, "seed=2,3", "task.headline=accuracy").returncode == 0
    ended = bertxfer(*common, "seed=0..3")
    assert "4 done before" in ended.stdout
    name = ended.stdout.split()[1].rstrip(":")
    shown = [line.split()[-3:-1] for line in bertxfer("status", name).stdout.splitlines() if "as pretrained" in line]
    expected = sorted(f"{found['metrics']['matthews_correlation']:.4f}" for found in results(tmp_path))  # type: ignore[index]
    assert sorted(score for score, _ in shown) == expected
    assert {metric for _, metric in shown} == {"matthews_correlation"}
    both = bertxfer(*common, "seed=0..3", BOTH).stdout
    assert "mini_cola" in both and "(matthews_correlation)" in "".join(both.split()) and both.count("±") == 3
    assert bertxfer("export", "all.csv").returncode == 0
    table = pd.read_csv(tmp_path / "all.csv")
    assert table.groupby("group")["headline"].nunique().tolist() == [1, 1]


def test_metrics_that_are_asked_for_later_are_in_the_report(bertxfer: Run, tmp_path: Path) -> None:
    words = ("-m", "task=mini_sst2", *SMALL, "seed=0,1")
    assert bertxfer(*words).returncode == 0
    more = (*words, "task.metrics=[accuracy,f1]", "figure.kind=table", "figure.y=metrics.f1", "figure.tables=[summary]")
    ended = bertxfer("report", *more)
    assert ended.returncode == 0, ended.stderr
    (table,) = (tmp_path / "out" / "reports").glob("*/tables/summary.csv")
    found = pd.read_csv(table)
    assert found["measure"].tolist() == ["f1"] and found["n"].tolist() == [2]
    assert all(set(one["metrics"]) == {"accuracy"} for one in results(tmp_path))  # type: ignore[call-overload]
    for typed in ("figure.y=dev_loss", "figure.y=accuracy"):
        refused = bertxfer("report", *words, typed)
        assert refused.returncode == 2 and "figure.y" in refused.stderr and "Traceback" not in refused.stderr


def test_error_bars_are_heard_without_an_experiment_and_the_page_says_how_to_run_it(
    bertxfer: Run, tmp_path: Path
) -> None:
    words = ("-m", "task=mini_sst2", *SMALL, "seed=0,1")
    assert bertxfer(*words).returncode == 0
    assert bertxfer("report", *words, "error_bars=sd2", "figure.center=mean").returncode == 0
    (folder,) = (tmp_path / "out" / "reports").iterdir()
    assert "two standard deviations" in (folder / "tables" / "summary.md").read_text()
    page = (folder / "index.html").read_text()
    commands = [line for line in page.splitlines() if "python -m bertxfer -m" in line]
    assert commands and not any("figure." in line or "error_bars" in line for line in commands)
