"""One row per treatment: every trial, the mean and its interval. What a sweep without a block is drawn as."""

from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.charts import NUMBER, Chart, role, tips
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, counted, over_seeds
from bertxfer.report.marks import Marks, order_of
from bertxfer.report.style import Style
from bertxfer.report.units import SCORE
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    return made.scores(figure, results, dashed, trials=True)


def chart(figure: Figure, marks: Marks) -> Chart:
    style, treatments = Style(figure, marks), order_of(marks.data["x"].tolist())
    y = alt.Y("x:N", sort=treatments, title=None, axis=alt.Axis(labelLimit=220, grid=True))
    scale: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": alt.Axis(format=NUMBER)}
    scale["title"] = charts.y_title(figure)
    x, low = alt.X("y:Q", **scale), alt.X("low:Q", **scale)
    offset, mean = style.offset("yOffset"), role("mean")
    ticks = role("trial").mark_tick(opacity=0.5, thickness=1.5, size=10)
    layers = [
        ticks.encode(x, y, **offset, color=style.colour(), tooltip=tips(figure, "trial")),
        charts.interval(mean).encode(low, alt.X2("high:Q"), y, **offset, color=style.colour()),
        charts.dot(mean).encode(x, y, **offset, **style.marks(), tooltip=tips(figure, "mean")),
    ]
    rows = len(treatments) * max(1, len(style.series))
    drawn = charts.facets(layers, marks, height=max(60, 26 * rows), width=charts.WIDTH)
    return drawn.resolve_scale(x="independent", y="shared")


def caption(figure: Figure, marks: Marks) -> str:
    if (marks.of("mean")["n"] == 1).all():
        return "Each dot is the only trial of its treatment."
    dots = f"Ticks are trials, dots their means, of {counted(marks.of('mean')['n'], 'trial')} each."
    return dots if figure.center == "mean" else f"Ticks are trials. {over_seeds(figure, marks)}"


KIND = Kind(
    "treatments",
    marks,
    chart,
    unit=SCORE,
    caption=caption,
    any_center=True,
    x="treatment",
    labels="x",
    suits=lambda results: {},
)
