"""What charts are put together from: one Vega-Lite specification for the page and for print.

Levels and probing are dashed. All data of a chart is one table, so that filtering the table filters the chart.
"""

import dataclasses
import itertools
import json
import math
from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import words
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, order_of
from bertxfer.report.style import GREY, Style
from bertxfer.report.units import LOGARITHMIC, UNIT

Panels = alt.FacetChart | alt.LayerChart
Chart = Panels | alt.VConcatChart
WIDTH, HEIGHT, COLUMNS = 360, 250, 3  # of a panel; the page makes panels wider where there is room
CROSS = "M-.6,-.6L.6,.6M-.6,.6L.6,-.6"
# Vega rounds by the distance between ticks: where all scores are 0.473 there is one tick, labelled 0.
NUMBER = ".5~g"


def records(data: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: a gap is null."""
    return list(json.loads(data.to_json(orient="records", double_precision=15)))


def curves(figure: Figure, marks: Marks) -> Chart:
    """Means over x with their intervals, one line per series."""
    style = Style(figure, marks)
    line = joined().mark_line(strokeWidth=2)
    line = line.encode(x_axis(figure, marks), y_axis(figure), color=style.colour(), **beside(marks, style))
    return over_x(figure, marks, style, [line])


def over_x(figure: Figure, marks: Marks, style: Style, behind: list[alt.Chart]) -> Chart:
    """Means with their intervals over x, beside each other, in front of whatever a kind draws `behind` them.
    Trials are small; what has no result is a cross at the foot of its panel."""
    x, y, aside = x_axis(figure, marks), y_axis(figure), beside(marks, style)
    low, high = y_axis(figure, "low"), alt.Y2("high:Q")
    mean = role("mean")
    layers = [
        *levels(figure, marks, style, y),
        *behind,
        *_trials(figure, marks, style),
        interval(mean).encode(x, low, high, color=style.colour(), **aside),
        dot(mean).encode(x, y, **style.marks(), **aside, tooltip=tips(figure, "mean")),
        *dashed_line(figure, marks, style),
        *_crosses(figure, marks, style),
    ]
    return facets(layers, marks)


def seen(opacity: float = 1) -> Any:
    """The page puts marks that are not seen into panels without any of a role: of those Vega would warn."""
    return alt.condition("datum.ghost", alt.value(0), alt.value(opacity))


def joined() -> alt.Chart:
    """What a line joins: it breaks where a place has no result."""
    return alt.Chart().transform_filter("datum.role === 'mean' || datum.role === 'missing'")


def beside(marks: Marks, style: Style) -> dict[str, Any]:
    """Several series beside each other on an axis of words; on one of numbers the marks have their places (`at`)."""
    return {} if "at" in marks.data else style.offset("xOffset")


def _trials(figure: Figure, marks: Marks, style: Style) -> list[alt.Chart]:
    if not len(marks.of("trial")):
        return []
    x, y, aside = x_axis(figure, marks), y_axis(figure), beside(marks, style)
    small = role("trial").mark_point(size=22, filled=True)
    return [small.encode(opacity=seen(0.5)).encode(x, y, **style.marks(), **aside, tooltip=tips(figure, "trial"))]


def _crosses(figure: Figure, marks: Marks, style: Style) -> list[alt.Chart]:
    if not len(marks.of("missing")):
        return []
    cross = role("missing").mark_point(shape=CROSS, size=40, stroke=GREY, strokeWidth=1.5)
    x, foot = x_axis(figure, marks), alt.value("height")
    return [cross.encode(x, y=foot, **beside(marks, style), tooltip=tips(figure, "missing"))]


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
        dot(dashed).encode(x, y, color=alt.value(GREY), opacity=seen(), tooltip=tips(figure, "mean")),
    ]


def labelled(figure: Figure, x: str, y_label: str | None) -> Figure:
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
    number = alt.Tooltip("y:Q", title=figure.center, format=".4~g")
    tips = [alt.Tooltip("series:N", title="level"), number, "n:Q", "trials:N"]
    level = role("level").transform_calculate(line="datum.series")
    return [level.mark_rule(strokeWidth=1.5).encode(y, **style.lines(), opacity=seen(), tooltip=tips)]


def x_axis(figure: Figure, marks: Marks) -> alt.X:
    """True to scale where x is a number, with a tick for each value."""
    title = figure.x_label or words.axis(str(figure.x))
    values = order_of(_sorted(marks.data["x"].dropna().tolist()))
    if "at" not in marks.data:
        return alt.X("x:O", title=title, axis=alt.Axis(labelAngle=0, labelOverlap=True), sort=values)
    values = order_of(_sorted(marks.data.loc[marks.data["at"].notna(), "x"].tolist()))
    logarithmic = figure.x in LOGARITHMIC and values[0] > 0
    scale = alt.Scale(domain=_room_for(values, logarithmic), nice=False, zero=False)
    if logarithmic:
        scale["type"] = "log"
    whole = all(float(value).is_integer() for value in values)
    form = "~%" if figure.x == "data.fraction" else ",d" if whole else ".5~f"
    axis = alt.Axis(values=values, format=form, labelAngle=0, labelOverlap=True, grid=False)
    return alt.X("at:Q", title=title, scale=scale, axis=axis)


def _room_for(values: list[Any], logarithmic: bool) -> list[float]:
    """The ends of the axis: half of the smallest step beyond the first and the last value."""
    numbers = [math.log(value) if logarithmic else float(value) for value in values]
    step = min((b - a for a, b in itertools.pairwise(numbers)), default=1.0) / 2
    ends = numbers[0] - step, numbers[-1] + step
    return [math.exp(end) for end in ends] if logarithmic else list(ends)


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values) if all(isinstance(value, (int, float)) for value in values) else values


def y_axis(figure: Figure, field: str = "y") -> alt.Y:
    """The vertical axis. Ends of intervals have it too: Vega-Lite titles an axis after everything drawn on it. A nice
    axis of points ends at 0 and 100 where scores do, since both are round."""
    axis = alt.Axis(
        labelFlush=True, format=NUMBER
    )  # a number that stuck out above its panel would move the panel's heading
    return alt.Y(f"{field}:Q", scale=alt.Scale(zero=False), axis=axis, title=y_title(figure))


def y_title(figure: Figure) -> str:
    return figure.y_label or f"dev score ({UNIT})"


def tips(figure: Figure, role: str) -> list[alt.Tooltip]:
    """What hovering over a mark shows: what it is, its numbers, its trials."""
    place = [alt.Tooltip("facet:N", title=words.axis(figure.facets) if figure.facets else "metric")]
    if figure.x is not None:
        place.append(alt.Tooltip("x:N", title=figure.x))
    place.append(alt.Tooltip("series:N", title=", ".join(figure.series) or "series"))
    if role in ("trial", "missing"):
        return [*place, alt.Tooltip("trials:N", title="trial" if role == "trial" else "no result")]
    numbers = {"y": figure.center, "low": "from", "high": "to", "sd": "sd"}
    return [
        *place,
        *(alt.Tooltip(f"{field}:Q", title=title, format=".4~g") for field, title in numbers.items()),
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
