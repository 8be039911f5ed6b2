"""Each permutation as a circle, their mean with its interval, and beside them the density of outcomes."""

import dataclasses
from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.charts import Chart, role, tips, y_axis
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks
from bertxfer.report.style import GREY, Style
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    alone = dataclasses.replace(figure, x=None)
    return made.scores(alone, results, dashed, trials=True, densities=True, level_interval="sd2")


def chart(figure: Figure, marks: Marks) -> Chart:
    figure = dataclasses.replace(figure, x=None)
    y, style = y_axis(figure), Style(figure, marks)
    wide: dict[str, Any] = {"scale": alt.Scale(domain=[-1.15, 1.15]), "axis": None}
    across = alt.X("x:Q", **wide)
    trial = role("trial").transform_window(position="row_number()", groupby=["facet", "series"])
    spread = trial.transform_calculate(x="-0.85 + 0.7 * ((datum.position * 0.618034) % 1)")
    density = role("density").transform_calculate(x="0.08 + datum.x", zero="0.08")
    mean = role("mean").transform_calculate(x="0", from_="-1", to="0.08")
    area = density.mark_area(opacity=0.3, orient="horizontal").encode(across, alt.X2("zero:Q"), y, color=style.colour())
    layers = [
        *_bands(marks, figure),
        *charts.levels(figure, marks, style, y),
        *([area] if len(marks.of("density")) else []),
        spread.mark_point(size=36, strokeWidth=1.5).encode(
            across, y, color=style.colour(), tooltip=tips(figure, "trial")
        ),
        mean.mark_rule(strokeWidth=2).encode(alt.X("from_:Q", **wide), alt.X2("to:Q"), y, color=style.colour()),
        charts.interval(mean, 3).encode(across, y_axis(figure, "low"), alt.Y2("high:Q"), color=style.colour()),
        charts.dot(mean).encode(across, y, color=style.colour(), tooltip=tips(figure, "mean")),
    ]
    return charts.facets(layers, marks, width=170)


def _bands(marks: Marks, figure: Figure) -> list[alt.Chart]:
    """Two standard deviations around a level."""
    if not marks.of("level")["low"].notna().any():
        return []
    band = role("level").transform_filter("isValid(datum.low)").mark_rect(opacity=0.12, color=GREY)
    return [band.encode(y_axis(figure, "low"), alt.Y2("high:Q"))]


KIND = Kind(
    "points",
    marks,
    chart,
    caption="Each circle is a permutation; the line is their mean, the shaded shape their density.",
)
