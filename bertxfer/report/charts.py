"""What charts are put together from: one Vega-Lite specification for the page and for print.

Levels and probing are dashed. All data of a chart is one table, so that filtering the table filters the chart.
"""

import dataclasses
import json
from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import words
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, order_of
from bertxfer.report.style import GREY, Style

Panels = alt.FacetChart | alt.LayerChart
Chart = Panels | alt.VConcatChart
WIDTH, HEIGHT, COLUMNS = 230, 190, 3
# Vega rounds by the distance between ticks: where all scores are 0.473 there is one tick, labelled 0.
NUMBER = ".5~g"


def records(data: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: a gap is null."""
    return list(json.loads(data.to_json(orient="records", double_precision=15)))


def curves(figure: Figure, marks: Marks) -> Chart:
    """Means over x with their intervals, one line per series."""
    style = Style(figure, marks)
    line = role("mean").mark_line(strokeWidth=2)
    line = line.encode(x_axis(figure, marks), y_axis(figure), color=style.colour())
    return over_x(figure, marks, style, [line])


def over_x(figure: Figure, marks: Marks, style: Style, behind: list[alt.Chart], offset: bool = False) -> Chart:
    """Means with their intervals over x, in front of whatever a kind draws `behind` them, or beside each other."""
    x, y = x_axis(figure, marks), y_axis(figure)
    beside = style.offset("xOffset") if offset else {}
    low, high = y_axis(figure, "low"), alt.Y2("high:Q")
    mean = role("mean")
    layers = [
        *levels(figure, marks, style, y),
        *behind,
        interval(mean).encode(x, low, high, color=style.colour(), **beside),
        dot(mean).encode(x, y, **style.marks(), **beside, tooltip=tips(figure, "mean")),
        *dashed_line(figure, marks, style),
    ]
    return facets(layers, marks)


def dashed_line(figure: Figure, marks: Marks, style: Style) -> list[alt.Chart]:
    """Another experiment over the same axis, where there is one."""
    if not len(marks.of("dashed")):
        return []
    x, y = x_axis(figure, marks), y_axis(figure)
    dashed = role("dashed").transform_calculate(line="datum.series")
    low, high = y_axis(figure, "low"), alt.Y2("high:Q")
    return [
        dashed.mark_line(strokeWidth=2).encode(x, y, **style.lines()),
        interval(dashed).encode(x, low, high, color=alt.value(GREY)),
        dot(dashed).encode(x, y, color=alt.value(GREY), tooltip=tips(figure, "mean")),
    ]


def labelled(figure: Figure, x: str, y_label: str) -> Figure:
    """With labels for axes that are not columns of the results: steps, epochs, layers."""
    x = figure.x or x
    return dataclasses.replace(figure, x=x, x_label=figure.x_label or words.axis(x), y_label=figure.y_label or y_label)


def role(role: str) -> alt.Chart:
    return alt.Chart().transform_filter(f"datum.role === '{role}'")


def interval(chart: alt.Chart, width: float = 1.5) -> alt.Chart:
    # Without an interval there is a line of no length: a panel without any would be an axis without an extent, which
    # Vega warns of.
    ends = {end: f"isValid(datum.{end}) ? datum.{end} : datum.y" for end in ("low", "high")}
    return chart.transform_calculate(**ends).mark_rule(strokeWidth=width)


def dot(chart: alt.Chart, opacity: float = 1) -> alt.Chart:
    return chart.mark_point(filled=True, size=46, opacity=opacity)


def levels(figure: Figure, marks: Marks, style: Style, y: alt.Y) -> list[alt.Chart]:
    if not len(marks.of("level")):
        return []
    number = alt.Tooltip("y:Q", title=figure.center, format=".4f")
    tips = [alt.Tooltip("series:N", title="level"), number, "n:Q", "trials:N"]
    level = role("level").transform_calculate(line="datum.series")
    return [level.mark_rule(strokeWidth=1.5).encode(y, **style.lines(), tooltip=tips)]


def x_axis(figure: Figure, marks: Marks) -> alt.X:
    title = figure.x_label or words.axis(str(figure.x))
    axis = alt.Axis(labelAngle=0, labelOverlap=True)
    return alt.X("x:O", title=title, axis=axis, sort=order_of(_sorted(marks.data["x"].dropna().tolist())))


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values) if all(isinstance(value, (int, float)) for value in values) else values


def y_axis(figure: Figure, field: str = "y") -> alt.Y:
    """The vertical axis. Ends of intervals have it too: Vega-Lite titles an axis after everything drawn on it."""
    axis = alt.Axis(
        labelFlush=True, format=NUMBER
    )  # a number that stuck out above its panel would move the panel's heading
    return alt.Y(f"{field}:Q", scale=alt.Scale(zero=False), axis=axis, title=figure.y_label or "dev score")


def tips(figure: Figure, role: str) -> list[alt.Tooltip]:
    """What hovering over a mark shows: what it is, its numbers, its trials."""
    place = [alt.Tooltip("facet:N", title=words.axis(figure.facets) if figure.facets else "metric")]
    if figure.x is not None:
        place.append(alt.Tooltip("x:N", title=figure.x))
    place.append(alt.Tooltip("series:N", title=", ".join(figure.series) or "series"))
    if role == "trial":
        return [*place, alt.Tooltip("trials:N", title="trial")]
    numbers = {"y": figure.center, "low": "from", "high": "to", "sd": "sd"}
    return [
        *place,
        *(alt.Tooltip(f"{field}:Q", title=title, format=".4f") for field, title in numbers.items()),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("trials:N", title="by seed"),
    ]


def facets(layers: list[alt.Chart], marks: Marks, width: int = WIDTH, height: int = HEIGHT) -> Panels:
    return panels(layers, marks, width, height, COLUMNS).resolve_scale(y="independent")


def data_of(marks: Marks) -> alt.InlineData:
    return alt.InlineData(values=records(marks.data), name="marks")


def panels(
    layers: list[alt.Chart],
    marks: Marks,
    width: int,
    height: int,
    columns: int,
    gap: int = 64,
    data: alt.InlineData | None = None,
) -> Panels:
    """The layers once for every facet; without facets, once. Charts that are put together share their `data`."""
    data = data or data_of(marks)
    layered = alt.layer(*layers, data=data).properties(width=width, height=height)
    facets = order_of(marks.data["facet"].tolist())
    if facets == [""]:
        return layered
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    # Flush: panels stand in line by their own edges, not by how far the numbers at their axes reach.
    spacing = {"column": gap, "row": 84}
    chart = layered.facet(alt.Facet("facet:N", sort=facets, header=header), columns=min(columns, len(facets)))
    return chart.properties(bounds="flush", spacing=spacing).resolve_axis(x="independent")
