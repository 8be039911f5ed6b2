"""What the papers' captions say of their figures, against what our experiments ask for and what is drawn of it."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

from bertxfer.config.schema import conf_dir
from bertxfer.report import published, subject
from bertxfer.report.blocks import figures_of
from bertxfer.report.drawing import Drawing, draw
from bertxfer.report.figure import Figure
from bertxfer.report.frame import frame
from bertxfer.report.tables import make
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from tests.helpers.frames import results
from tests.helpers.stored import finish, point, seeds_of, stored


def blocks(experiment: str) -> list[Figure]:
    path = conf_dir() / "experiment" / f"{experiment}.yaml"
    return figures_of(yaml.safe_load(path.read_text(encoding="utf-8"))["figure"])


@pytest.fixture(autouse=True)
def _hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the hub has is known by its name; files of some of the tasks may lie beside the checkout."""
    monkeypatch.delenv("BERTXFER_DATA", raising=False)


def test_every_experiment_that_shows_a_course_has_each_epoch_evaluated() -> None:
    shown = set()
    for path in (conf_dir() / "experiment").rglob("*.yaml"):
        plain = yaml.safe_load(path.read_text(encoding="utf-8"))
        drawn = figures_of(plain.get("figure"))
        if any(block.kind == "epochs" or "by_epoch" in block.tables for block in drawn):
            shown.add(path.stem)
            assert plain["training"]["evaluate"] == "every", path
    assert "epochs" in shown


@pytest.mark.parametrize("figure", ["fig6", "fig7", "fig8"])
def test_tamkins_appendix_has_error_bars_of_two_standard_deviations(figure: str) -> None:
    (block,) = blocks(f"tamkin2020/{figure}")
    assert block.interval == "sd2"


def test_tamkins_figure_5_has_a_dotted_mean(tmp_path: Path) -> None:
    places = [p for k in (0, 12) for p in seeds_of(point("scheme=incremental", k=k), [0, 1])]
    store = stored(places, tmp_path, lambda p: 0.5 + 0.1 * p.axes["seed"])
    drawn = draw(blocks("tamkin2020/fig5")[0], frame(places, store), store, "fig5")
    assert drawn is not None
    lines: list[dict[str, Any]] = [layer["mark"] for layer in drawn.spec["spec"]["layer"]]
    (line,) = [mark for mark in lines if mark["type"] == "line"]
    ink, gap = line["strokeDash"]
    assert ink < line["strokeWidth"] < gap
    assert "dotted line" in drawn.explanation


def test_squad_is_drawn_by_exact_match_and_f1() -> None:
    squad = [block for block in blocks("cs224n2020/fig3") if block.where == {"task": "squad2"}]
    assert [block.y for block in squad] == [("metrics.exact_match", "metrics.f1")]


def test_tamkins_epochs_are_followed_by_loss_first_and_then_by_score(tmp_path: Path) -> None:
    """Appendix E tracks validation losses up to ten epochs, and chose three and five from them."""
    places = [p for k in (0, 12) for p in seeds_of(point("scheme=incremental", k=k, data__n=500), [0, 1])]
    store = stored(places, tmp_path, lambda p: 0.5)
    old = places[3].trial.id  # stored before there were dev losses
    for place in places:
        k, seed = place.axes["k"], place.axes["seed"]
        last = 9 if (k, seed) == (0, 1) else 10
        events: list[dict[str, Any]] = [{"step": 1, "loss": 9.0, "lr": 0.5}]
        for epoch in range(1, last + 1):
            loss = {} if place.trial.id == old else {"dev_loss": 2.0 / epoch + seed}
            events.append({"step": epoch, "epoch": epoch, "accuracy": 0.04 * epoch + 0.02 * k + 0.1 * seed, **loss})
        lines = "\n".join(json.dumps(event) for event in events)
        (store.folder(place.trial.id) / "history.jsonl").write_text(lines)
    results = frame(places, store)
    by_loss, by_score = blocks("tamkin2020/epochs")
    loss, score = (draw(block, results, store, "epochs") for block in (by_loss, by_score))
    assert loss is not None and score is not None
    reached = {(mark["series"], mark["x"]): (mark["y"], mark["n"]) for mark in means_in(loss)}
    assert reached["k=0, n=500", 2] == (pytest.approx(1.5), 2)  # 1.0 and 2.0
    assert reached["k=12, n=500", 2] == (pytest.approx(1.0), 1)  # not the old one
    assert [note for note in loss.marks.notes if "without" in note] == [
        "1 finished trial was stored without dev losses of every epoch and is left out; "
        "a run with training.evaluate=every adds them."
    ]
    assert {mark["facet"] for mark in loss.spec["data"]["values"]} == {"mini_sst2"}
    reached = {(mark["series"], mark["x"]): (mark["y"], mark["n"]) for mark in means_in(score)}
    assert reached["k=12, n=500", 10] == (pytest.approx(69), 2)  # 0.64 and 0.74
    losses, scores = (make(results, block, store)[0] for block in (by_loss, by_score))
    assert [name for name in scores.cells if name.startswith("epoch")] == ["epoch 3", "epoch 5", "epoch 10"]
    # 0.04 * epoch, plus 0.24 for k=12, and half of the 0.1 that the second seed is higher by; ± 12.706 * 0.1 / 2.
    assert scores.cells.loc[1, "epoch 3":"epoch 10"].tolist() == ["41.0 ± 63.5", "49.0 ± 63.5", "69.0 ± 63.5"]
    assert scores.cells.loc[0, "epoch 10"] == "40.0"  # one of the two ended at epoch 9
    assert "1 of 4 trials ended before epoch 10" in scores.note
    assert losses.cells["epoch 5"].tolist() == ["0.900 ± 6.353", "0.400"]
    assert "1 finished trial was stored without dev losses of every epoch and is left out" in losses.note


def means_in(drawn: Drawing) -> list[dict[str, Any]]:
    return [mark for mark in drawn.spec["data"]["values"] if mark["role"] == "mean"]


def test_where_no_trial_has_a_dev_loss_none_is_drawn_and_the_table_says_why(tmp_path: Path) -> None:
    (place,) = places = seeds_of(point("scheme=incremental", k=3, data__n=500), [0])
    store = stored(places, tmp_path, lambda p: 0.5)
    (store.folder(place.trial.id) / "history.jsonl").write_text('{"step": 1, "epoch": 1, "accuracy": 0.5}')
    by_loss, _ = blocks("tamkin2020/epochs")
    assert draw(by_loss, frame(places, store), store, "epochs") is None
    (table,) = make(frame(places, store), by_loss, store)
    assert "1 finished trial was stored without dev losses of every epoch" in table.note


def chains_of(scores: dict[tuple[str, str | None], list[float]], root: Path) -> tuple[pd.DataFrame, Store]:
    """Results of final tasks after intermediate ones. Any unlike trials may stand for them: the axes say which."""
    store, places = Store(root), []
    for i, ((task, first), given) in enumerate(scores.items()):
        trials = seeds_of(point(f"task={task}", f"training.warmup=0.{i + 1}"), range(len(given)))
        for place, score in zip(trials, given, strict=True):
            finish(place, store, score)
            axes = {"task": task, "seed": place.axes["seed"], **({"intermediate": first} if first else {})}
            places.append(Point(axes, place.trial))
    return frame(places, store), store


RUNS = {
    ("mini_sst2", None): [0.7, 0.9],
    ("mini_sst2", "mini_cola"): [0.84, 0.84],  # better on average, and yet not the best
    ("mini_cola", None): [0.5, 0.6],
    ("mini_cola", "mini_sst2"): [0.61, 0.2],
}


def test_cs224ns_matrix_has_the_better_of_two_runs_and_says_so(tmp_path: Path) -> None:
    (block,) = blocks("cs224n2020/fig2")
    results, store = chains_of(RUNS, tmp_path)
    drawn = draw(block, results, store, "fig2")
    assert drawn is not None
    cells = {(mark["row"], mark["column"]): mark for mark in drawn.spec["data"]["values"]}
    assert {place: (mark["y"], mark["low"], mark["best"]) for place, mark in cells.items()} == {
        ("mini_sst2", "mini_sst2"): (90, None, True),
        ("mini_sst2", "mini_cola"): (84, None, False),
        ("mini_cola", "mini_cola"): (60, None, False),
        ("mini_cola", "mini_sst2"): (61, None, True),
    }
    assert drawn.explanation.startswith("Each number is the best of 2 runs. A maximum over runs is not an average")
    (table,) = make(results, block, store)
    assert [row[1:3] for row in table.cells.to_numpy().tolist()] == [["90.0", "84.0"], ["61.0", "60.0"]]
    assert (table.shaded, table.bold) == ({(0, "mini_sst2"), (1, "mini_sst2")}, {(1, "mini_sst2")})
    assert "the best of 2 trials each. A maximum over runs is not an average: it grows with" in table.note


def test_cs224ns_wishes_are_medians(tmp_path: Path) -> None:
    paths = (conf_dir() / "experiment" / "cs224n2020").glob("wanted*.yaml")
    wanted = [block for path in paths for block in blocks(f"cs224n2020/{path.stem}")]
    assert wanted and all(block.center == "median" for block in wanted if block.kind in ("curves", "matrix"))
    results, store = chains_of({**RUNS, ("mini_cola", "mini_sst2"): [0.61, 0.2, 0.3]}, tmp_path)
    (block,) = figures_of({"kind": "matrix", "center": "median", "tables": ["matrix"]})
    (table,) = make(results, block, store)
    assert table.cells.to_numpy().tolist()[1][1:3] == ["30.0 (20.0 to 61.0)", "55.0 (50.0 to 60.0)"]
    assert "medians of 2 to 3 trials each, in parentheses their range" in table.note
    drawn = draw(block, results, store, "any")
    assert drawn is not None
    ranges = {mark["column"]: mark["range"] for mark in drawn.spec["data"]["values"] if mark["row"] == "mini_cola"}
    assert ranges == {"mini_cola": "50.0 to 60.0", "mini_sst2": "20.0 to 61.0"}


def test_kovalevas_table_1_prints_the_papers_own_numbers(tmp_path: Path) -> None:
    paper = published.find("kovaleva2019/table1")
    assert paper is not None
    rows = dict(zip(("mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"), paper.rows, strict=True))
    names = {row[0]: row for row in paper.rows}
    points = subject.of_words(["experiment=kovaleva2019/table1"], tmp_path).points
    store = Store(tmp_path)
    for place in points:
        column = 2 if place.axes["scheme"] == "scratch" else 3 if place.axes["training.epochs"] else 1
        numbers = [float(number) / 100 for number in rows[place.axes["task"]][column].split("/")]
        measured = ["f1", "accuracy"] if len(numbers) == 2 else [place.trial.metrics[0]]
        scores = {**dict.fromkeys(place.trial.metrics, 0.0), **dict(zip(measured, numbers, strict=True))}
        finish(place, store, scores[place.trial.metrics[0]], metrics=scores, n_train=3668)
    figure = blocks("kovaleva2019/table1")[0]
    table, differences = make(frame(points, store), figure, store)
    *tasks, average = table.cells.to_numpy().tolist()
    for name, *cells, metric, size in tasks:
        printed = ["/".join(f"{float(number):.1f}" for number in cell.split("/")) for cell in names[name][1:4]]
        assert [name, *cells, size] == [name, *printed, "3,668"]
        assert metric == ("mean of Pearson and Spearman" if name == "STS-B" else names[name][4])
    assert [row[0] for row in tasks] == list(names)
    # "with an average of 35.9 points of absolute difference"; 9.5 is the mean of 36.7, -30.2, 31.4, 2.3, 0, -3.3, 29.3.
    assert average == ["mean difference from pre-trained", "", "+9.5", "+35.9", "", ""]
    assert "mean over 7 tasks, in points, by accuracy where a task has several metrics" in table.note
    # Two metrics of two tasks, one of five; each for two columns against the third.
    assert len(differences.cells) == 2 * (2 * 2 + 5)


def test_a_task_with_trials_of_several_kinds_is_in_no_average() -> None:
    made = [
        {"task": task, "scheme": scheme, "score": score, "training.epochs": epochs}
        for task, scheme, score, epochs in [
            ("rte", "before", 0.25, 3),
            ("rte", "after", 0.5, 3),
            ("rte", "after", 0.75, 5),
            ("qqp", "before", 0.5, 3),
            ("qqp", "after", 0.875, 3),
        ]
    ]
    (figure,) = figures_of(
        {"kind": "table", "levels": {name: {"scheme": name} for name in ("before", "after")}, "tables": ["columns"]}
    )
    (table,) = make(results(*made), figure, Store("nowhere"))
    unlike = "training.epochs=3: 50.0; training.epochs=5: 75.0"
    assert table.cells["after"].tolist() == [unlike, "training.epochs=3: 87.5", "+37.5"]
    assert "mean over 1 task, in points" in table.note
