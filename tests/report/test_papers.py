"""What the papers' captions say of their figures, against what our experiments ask for and what is drawn of it."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from bertxfer.config.schema import conf_dir
from bertxfer.report.blocks import figures_of
from bertxfer.report.drawing import draw
from bertxfer.report.figure import Figure
from bertxfer.report.frame import frame
from tests.helpers.stored import point, seeds_of, stored


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
