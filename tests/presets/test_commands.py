"""What people type beside a preset, from the command to the trials it means and the numbers of its report.

Each of these commands once meant other trials, averaged what must not be, or ended in a traceback.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bertxfer.report import subject
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from tests.helpers.commands import Run, only_line
from tests.helpers.stored import finish

HUB = {"BERTXFER_DATA": ""}  # what the hub has is known by its name, and no trial is run here


def asked(bertxfer: Run, *words: str) -> list[dict[str, Any]]:
    """The scientific configs of the trials that a command means."""
    ran = bertxfer("plan", "--json", "--stand-ins", "-m", *words, env=HUB)
    assert ran.returncode == 0, ran.stderr
    return [trial["science"] for trial in json.loads(ran.stdout)["trials"]]


def reported(bertxfer: Run, tmp_path: Path, score: Callable[[Point], float], *words: str) -> Path:
    """The report's folder of a command whose trials have ended with these scores, written by the test."""
    wanted = subject.of_words(list(words), tmp_path / "out")
    for place in wanted.points:
        finish(place, wanted.store, score(place))
    ended = bertxfer("report", "-m", *words, env=HUB)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stderr
    return tmp_path / "out" / "reports" / wanted.name


@pytest.fixture(autouse=True)
def _hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERTXFER_DATA", raising=False)


def test_a_task_of_the_matrix_has_its_own_row_and_metric(bertxfer: Run, tmp_path: Path) -> None:
    """It was put into all four grids, that of MRPC's accuracy included."""
    words = ("experiment=cs224n2020/fig2", "task=cola")
    trials = asked(bertxfer, *words)
    assert len(trials) == 4 * 2 and {t["task"]["name"] for t in trials} == {"cola"}
    before = {tuple(stage["task"]["name"] for stage in t.get("chain", {"stages": []})["stages"]) for t in trials}
    assert before == {(), ("mrpc",), ("rte",), ("wnli",)}
    folder = reported(bertxfer, tmp_path, lambda place: 0.5 + 0.1 * (place.axes["intermediate"] is None), *words)
    table = pd.read_csv(folder / "tables" / "matrix.csv")
    assert set(table["task"]) == {"cola"} and set(table["measure"]) == {"matthews_correlation"}
    assert len(table) == 4 and table["n"].tolist() == [2] * 4


def test_mrpc_alone_is_one_trial_whichever_metric_is_looked_at(bertxfer: Run) -> None:
    """As the diagonal of the matrix it is scored by accuracy, as the baseline of figure 3 by the mean with F1."""
    ids = []
    for words in (
        ("experiment=cs224n2020/fig2", "task=mrpc", "intermediate=null", "seed=0"),
        ("experiment=cs224n2020/fig3", "task=mrpc", "k=12"),
    ):
        ran = bertxfer("plan", "--json", "--stand-ins", "-m", *words, env=HUB)
        ids.append([trial["id"] for trial in json.loads(ran.stdout)["trials"]])
    assert len(ids[0]) == 1 and ids[0] == ids[1]


def test_heads_of_two_tasks_are_counted_apart(bertxfer: Run, tmp_path: Path) -> None:
    """They were summarized as 24 heads a layer."""
    words = ("experiment=cs224n2020/fig7", "task=cola,stsb")
    assert len(asked(bertxfer, *words)) == 2 * 49
    folder = reported(bertxfer, tmp_path, lambda place: 0.5 + 0.01 * (place.axes.get("head") or 0), *words)
    table = pd.read_csv(folder / "tables" / "quartiles_by_layer.csv")
    assert table["count"].tolist() == [12] * 8 and set(table["task"]) == {"cola", "stsb"}


def test_heads_of_two_sizes_are_not_averaged(bertxfer: Run, tmp_path: Path) -> None:
    words = ("experiment=cs224n2020/fig5", "data.n=500,1000")
    folder = reported(bertxfer, tmp_path, lambda place: place.axes["data.n"] / 2000, *words)
    table = pd.read_csv(folder / "tables" / "heads.csv")
    assert len(table) == 2 * 48 and table["n"].tolist() == [1] * 96
    assert table["difference"].tolist() == pytest.approx([0.0] * 96)  # each size has its own baseline


def test_a_part_of_figure_2_is_planned_and_reported(bertxfer: Run, tmp_path: Path) -> None:
    """Example of docs/results.md: it was 689 trials of five and of three epochs, and its report failed."""
    words = ("experiment=tamkin2020/fig2", "task=cola", "data.n=500")
    trials = asked(bertxfer, *words)
    assert len(trials) == 13 * 50 and {t["training"]["epochs"] for t in trials} == {5}
    folder = reported(bertxfer, tmp_path, lambda place: place.axes["k"] / 20, *words, "k=0,6,12", "seed=0..2")
    table = pd.read_csv(folder / "tables" / "summary.csv")
    assert table["n"].tolist() == [3] * 3 and table["mean"].tolist() == pytest.approx([0, 0.3, 0.6])


def test_typed_values_keep_what_their_grid_says(bertxfer: Run) -> None:
    cola = asked(bertxfer, "experiment=singh2020/fig1", "task=cola")
    assert len(cola) == 13 and {t["data"]["fraction"] for t in cola} == {1.0}
    squad = asked(bertxfer, "experiment=cs224n2020/fig3", "task=squad2")
    assert {(t["data"]["fraction"], t["training"]["batch_size"]) for t in squad} == {(0.1, 1)} and len(squad) == 13


def test_correlations_of_two_sizes_are_apart(bertxfer: Run, tmp_path: Path) -> None:
    """It ended in an error of pandas."""
    words = ("experiment=tamkin2020/table1", "data.n=500,5000")
    folder = reported(bertxfer, tmp_path, lambda place: (7 * place.axes["seed"] % 10) / 10, *words)
    table = pd.read_csv(folder / "tables" / "correlations.csv")
    assert table["n"].tolist() == [10] * 6  # three pairs of tasks at each size
    assert table["spearman"].tolist() == pytest.approx([1.0] * 6)


@pytest.mark.parametrize(("typed", "half"), [("figure.interval=sd2", 0.2), ("error_bars=sd2", 0.2), ("", 0.248)])
def test_what_is_typed_of_a_figure_is_drawn(bertxfer: Run, tmp_path: Path, typed: str, half: float) -> None:
    """Scores of 0.4, 0.5 and 0.6: two sd are 0.2; a 95% t-interval is 4.303 * 0.1 / sqrt(3). It was accepted and
    ignored."""
    words = ("experiment=tamkin2020/fig2", "task=cola", "data.n=5000", "k=0,6", *typed.split())
    folder = reported(bertxfer, tmp_path, lambda place: 0.4 + 0.1 * place.axes["seed"], *words)
    drawn = pd.read_csv(folder / "figures" / "figure-1.csv")
    means = drawn[drawn["mark"] == "mean"]
    assert len(means) == 2 and ((means["high"] - means["low"]) / 2).tolist() == pytest.approx([half] * 2, abs=1e-3)


def test_every_figure_of_an_experiment_hears_what_is_typed_and_nonsense_is_refused(
    bertxfer: Run, tmp_path: Path
) -> None:
    words = ("experiment=cs224n2020/fig3", "k=0,12", "task=mrpc", "seed=0,1")
    folder = reported(bertxfer, tmp_path, lambda place: 0.5, *words, "figure.tables=[medians]")
    assert {path.stem for path in folder.glob("tables/*/*.csv")} == {"medians"}
    for typed, key in (("figure.intervall=sd2", "figure.intervall"), ("figure.interval=sd3", "figure.interval")):
        ended = bertxfer("report", "-m", *words, typed, env=HUB)
        assert ended.returncode == 2 and ended.stderr.splitlines()[-1].startswith(f"bertxfer: {key}")


def test_a_reading_changes_what_it_says_and_shares_the_rest(bertxfer: Run) -> None:
    text, code = (asked(bertxfer, "experiment=singh2020/fig1", f"reading={name}") for name in ("text", "code"))
    same = [trial for trial in text if trial in code]
    assert len(text) == len(code) == 91
    assert len(same) == 7 and all(not trial["treatment"]["redrawn"] for trial in same)  # every layer kept
    of_code = [trial["treatment"]["initializer"] for trial in code if trial not in same]
    assert {(one["cut"], one["biases"], one["layernorm"]) for one in of_code} == {(0.04, "keep", "reset")}


@pytest.mark.parametrize("name", ["text", "code"])
def test_plan_page_and_figures_name_the_reading(bertxfer: Run, tmp_path: Path, name: str) -> None:
    words = ("experiment=tamkin2020/fig6", f"reading={name}", "task=cola")
    planned = bertxfer("plan", "-m", *words, "--stand-ins", env=HUB)
    assert f"reading={name}: what the" in planned.stdout
    folder = reported(bertxfer, tmp_path, lambda place: 0.5, *words)
    assert f"tamkin2020/fig6, reading={name}" in (folder / "index.html").read_text()
    assert f"reading={name}" in (folder / "figures" / "figure-1.svg").read_text()
    bars = "two standard deviations" if name == "text" else "t=2.667"
    assert bars in (folder / "tables" / "summary.md").read_text()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["-m", "experiment=cs224n2020/fig3", "reading=code"], "here there is one"),
        (["reading=code"], "here there is one"),
        (["-m", "experiment=tamkin2020/fig3", "reading=text,code"], "one sweep has one reading"),
        (["-m", "experiment=tamkin2020/fig3", "reading=cod"], "did you mean code?"),
    ],
)
def test_readings_that_are_not_there_are_refused(bertxfer: Run, words: list[str], part: str) -> None:
    for verb in (["plan"], []):
        ended = bertxfer(*verb, *words, env=HUB)
        line = only_line(ended.stderr)
        assert ended.returncode == 2 and line.startswith("bertxfer: reading") and part in line


def test_typed_choices_win_over_those_of_a_reading(bertxfer: Run) -> None:
    words = ("experiment=tamkin2020/fig6", "reading=code", "init=normal", "model.pooling=mean", "task=cola", "seed=0")
    trials = asked(bertxfer, *words)
    assert {t["model"]["pooling"] for t in trials} == {"mean"}
    drawn = {t["treatment"]["initializer"]["distribution"] for t in trials if t["treatment"]["redrawn"]}
    assert drawn == {"normal"}


def test_a_result_is_shown_by_the_metric_that_is_asked_for(bertxfer: Run, tmp_path: Path) -> None:
    """It was run for accuracy; another look at it asks for MCC. That is taken from its predictions: nothing is run."""
    small = ("task=mini_sst2", "data.n=64", "data.dev_n=40", "training.epochs=2")
    first = bertxfer(*small, "task.metrics=[accuracy]", "task.headline=accuracy")
    assert first.returncode == 0, first.stderr
    (path,) = (tmp_path / "out" / "trials").glob("*/result.json")
    assert set(json.loads(path.read_text())["metrics"]) == {"accuracy"}
    again = bertxfer(*small, "task.metrics=[matthews_correlation]", "task.headline=matthews_correlation")
    assert again.returncode == 0 and again.stdout.startswith("stored"), again.stdout
    predictions = pd.read_parquet(path.parent / "predictions.parquet")
    expected = predictions["label"].corr(predictions["prediction"])  # MCC is Pearson's r of the two binary columns
    assert f"score={expected:.4f}" in again.stdout
    assert set(json.loads(path.read_text())["metrics"]) == {"accuracy"}  # the stored result is only read
    assert Store(tmp_path / "out").finished() == {path.parent.name}


def test_models_that_are_not_here_are_not_taken_for_one_another(bertxfer: Run) -> None:
    """A transplant between two of them was planned as the pretrained model itself."""
    words = ("model=bert_base_uncased", "task=sst2", "scheme=transplant", "region=layers 7-12")
    cased, large = (asked(bertxfer, *words, f"donor={name}") for name in ("google-bert/bert-base-cased", "other/model"))
    (own,) = asked(bertxfer, *words, "donor=google-bert/bert-base-uncased")
    assert cased != large and all(len(one["treatment"]["operations"]) == 1 for (one,) in (cased, large))
    assert "operations" not in own["treatment"]
