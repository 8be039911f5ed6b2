"""What the papers' captions say of their figures, against what our experiments ask for and what is drawn of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bertxfer.config.schema import conf_dir
from bertxfer.report import published, subject
from bertxfer.report.blocks import figures_of
from bertxfer.report.drawing import draw
from bertxfer.report.figure import Figure
from bertxfer.report.frame import frame
from bertxfer.report.tables import make
from bertxfer.store.store import Store
from tests.helpers.stored import finish, point, seeds_of, stored
from tests.report.test_tables import results


def blocks(experiment: str) -> list[Figure]:
    path = conf_dir() / "experiment" / f"{experiment}.yaml"
    return figures_of(yaml.safe_load(path.read_text(encoding="utf-8"))["figure"])


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


def test_kovalevas_table_1_prints_the_papers_own_numbers(tmp_path: Path) -> None:
    paper = published.find("kovaleva2019/table1")
    assert paper is not None
    rows = dict(zip(("mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli"), paper.rows, strict=True))
    points = subject.of_words(["experiment=kovaleva2019/table1"], tmp_path).points
    store = Store(tmp_path)
    for place in points:
        column = 2 if place.axes["scheme"] == "scratch" else 3 if place.axes["training.epochs"] else 1
        numbers = [float(number) / 100 for number in rows[place.axes["task"]][column].split("/")]
        names = ["f1", "accuracy"] if len(numbers) == 2 else [place.trial.metrics[0]]
        scores = {**dict.fromkeys(place.trial.metrics, 0.0), **dict(zip(names, numbers, strict=True))}
        finish(place, store, scores[place.trial.metrics[0]], metrics=scores, n_train=3668)
    figure = blocks("kovaleva2019/table1")[0]
    table, differences = make(frame(points, store), figure, store)
    *tasks, average = table.cells.to_numpy().tolist()
    for name, *cells, metric, size in tasks:
        printed = ["/".join(f"{float(number):.1f}" for number in cell.split("/")) for cell in rows[name][1:4]]
        assert [name, *cells, size] == [name, *printed, "3,668"]
        assert metric == ("mean of Pearson and Spearman" if name == "stsb" else rows[name][4])
    assert [row[0] for row in tasks] == list(rows)
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
