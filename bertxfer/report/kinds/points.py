"""Each permutation as a circle, their mean with its interval, and beside them the density of outcomes."""

import dataclasses
import json
from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.charts import Chart, role, tips, y_axis
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, counted
from bertxfer.report.marks import Marks
from bertxfer.report.style import GREY, Style
from bertxfer.report.units import SCORE
from bertxfer.store.store import Store

BANDS = {
    "sd2": "±2 standard deviations of its trials",
    "paper_code": "that of tamkin2020's code (t = 2.667, ddof 0)",
}


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    alone = dataclasses.replace(figure, x=None)
    return made.scores(alone, results, dashed, trials=True, densities=True, level_interval=_band_of(figure))


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
    return charts.facets(layers, marks)


def _band_of(figure: Figure) -> str:
    """The interval around a level: the paper says two standard deviations, its code draws the same as for the mean."""
    return "paper_code" if figure.interval == "paper_code" else "sd2"


def _bands(marks: Marks, figure: Figure) -> list[alt.Chart]:
    """Around the levels, with a name in the legend."""
    if not marks.of("level")["low"].notna().any():
        return []
    name = f"band: {BANDS[_band_of(figure)]}"
    band = role("level").transform_filter("isValid(datum.low)").transform_calculate(band=json.dumps(name))
    symbol: dict[str, Any] = {"symbolType": "square", "symbolSize": 300, "symbolOpacity": 0.3}
    legend = alt.Legend(title=None, orient="top", labelLimit=400, **symbol)
    grey = alt.Fill("band:N", scale=alt.Scale(domain=[name], range=[GREY]), legend=legend)
    return [band.mark_rect(opacity=0.12).encode(y_axis(figure, "low"), alt.Y2("high:Q"), fill=grey)]


def caption(figure: Figure, marks: Marks) -> str:
    orders = counted(marks.of("mean")["n"], "order")
    shapes = [f"Each circle is a trial ({orders} in each panel and series), the line their mean"]
    shapes += ["the shaded shape their density"] if len(marks.of("density")) else []
    banded = marks.of("level")["low"].notna().any()
    band = f" The grey band around a level is {BANDS[_band_of(figure)]}." if banded else ""
    return f"{', '.join(shapes)}.{band}"


KIND = Kind(
    "points",
    marks,
    chart,
    unit=SCORE,
    caption=caption,
)
