"""Marks as charts: one Vega-Lite specification for the page and for print.

Series differ in colour (Okabe and Ito's, which colour-blind people tell apart) and in shape; levels and probing are
dashed. All data of a chart is one table, so that whoever filters the table filters the chart.
"""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from bertxfer.report import words
from bertxfer.report.figures import Figure
from bertxfer.report.marks import Marks, order_of

Chart = alt.FacetChart | alt.LayerChart
# Okabe and Ito without black, which dark pages lose, and without yellow, which white paper loses.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
GREY = "#7a7a7a"
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[6, 4], [2, 3], [8, 3, 2, 3], [12, 3]]
WIDTH, HEIGHT, COLUMNS = 230, 190, 3
# Vega rounds by the distance between ticks: where all scores are 0.473 there is one tick, and it said 0.
NUMBER = ".5~g"
INTERVALS = {
    "t95": "Bars are 95% t-intervals.",
    "sd2": "Bars are ±2 standard deviations.",
    "paper_code": "Bars are those of tamkin2020's code (t = 2.667, ddof 0), which are not 95% intervals.",
    "none": "",
}


def records(data: pd.DataFrame) -> list[dict[str, Any]]:
    """A table as JSON has it: a gap is null."""
    return list(json.loads(data.to_json(orient="records", double_precision=15)))


def curves(figure: Figure, marks: Marks) -> Chart:
    """Means over x with their intervals, a line a series; also scatter (every trial) and bars (no lines)."""
    x = _x(figure, marks)
    y = _y(figure)
    style = _Style(figure, marks)
    layers = [*_levels(marks, style, y)]
    offset = style.offset("xOffset") if figure.kind == "bars" else {}
    if figure.kind == "scatter":
        many: dict[str, Any] = {"opacity": 0.35, "size": 14, "filled": True}
        layers.append(_role("trial").mark_point(**many).encode(x, y, **style.marks(), tooltip=_tips(figure, "trial")))
    mean = _role("mean")
    if figure.kind != "bars":
        # A loss curve has too many points to show; its series differ in dashes instead of shapes.
        look = style.strokes() if figure.kind == "loss" else {"color": style.colour()}
        layers.append(mean.mark_line(strokeWidth=2).encode(x, y, **look))
    layers.append(_interval(mean).encode(x, _y(figure, "low"), alt.Y2("high:Q"), color=style.colour(), **offset))
    if figure.kind == "loss":
        layers.append(_dot(mean, 0).encode(x, y, tooltip=_tips(figure, "mean")))  # only to be hovered over
    else:
        layers.append(_dot(mean).encode(x, y, **style.marks(), **offset, tooltip=_tips(figure, "mean")))
    if len(marks.of("dashed")):
        dashed = _role("dashed").transform_calculate(line="datum.series")
        layers.append(dashed.mark_line(strokeWidth=2).encode(x, y, **style.lines()))
        layers.append(_interval(dashed).encode(x, _y(figure, "low"), alt.Y2("high:Q"), color=alt.value(GREY)))
        layers.append(_dot(dashed).encode(x, y, color=alt.value(GREY), tooltip=_tips(figure, "mean")))
    return _facets(layers, marks)


def points(figure: Figure, marks: Marks) -> Chart:
    """Each permutation a circle, their mean with its interval, and beside them the density of outcomes."""
    y = _y(figure)
    style = _Style(figure, marks)
    wide: dict[str, Any] = {"scale": alt.Scale(domain=[-1.15, 1.15]), "axis": None}
    across = alt.X("x:Q", **wide)
    trial = _role("trial").transform_window(position="row_number()", groupby=["facet", "series"])
    spread = trial.transform_calculate(x="-0.85 + 0.7 * ((datum.position * 0.618034) % 1)")
    density = _role("density").transform_calculate(x="0.08 + datum.x", zero="0.08")
    mean = _role("mean").transform_calculate(x="0", from_="-1", to="0.08")
    area = density.mark_area(opacity=0.3, orient="horizontal").encode(across, alt.X2("zero:Q"), y, color=style.colour())
    layers = [
        *_bands(marks, figure),
        *_levels(marks, style, y),
        *([area] if len(marks.of("density")) else []),
        spread.mark_point(size=36, strokeWidth=1.5).encode(
            across, y, color=style.colour(), tooltip=_tips(figure, "trial")
        ),
        mean.mark_rule(strokeWidth=2).encode(alt.X("from_:Q", **wide), alt.X2("to:Q"), y, color=style.colour()),
        _interval(mean, 3).encode(across, _y(figure, "low"), alt.Y2("high:Q"), color=style.colour()),
        _dot(mean).encode(across, y, color=style.colour(), tooltip=_tips(figure, "mean")),
    ]
    return _facets(layers, marks, width=170)


def treatments(figure: Figure, marks: Marks) -> Chart:
    """One row a treatment: every trial, the mean and its interval."""
    style = _Style(figure, marks)
    y = alt.Y("x:N", sort=order_of(marks.data["x"].tolist()), title=None, axis=alt.Axis(labelLimit=220, grid=True))
    axis = alt.Axis(format=NUMBER)
    told: dict[str, Any] = {"scale": alt.Scale(zero=False), "axis": axis, "title": figure.y_label or "dev score"}
    x = alt.X("y:Q", **told)
    offset = style.offset("yOffset")
    mean = _role("mean")
    layers = [
        _role("trial")
        .mark_tick(opacity=0.5, thickness=1.5, size=10)
        .encode(x, y, **offset, color=style.colour(), tooltip=_tips(figure, "trial")),
        _interval(mean).encode(alt.X("low:Q", **told), alt.X2("high:Q"), y, **offset, color=style.colour()),
        _dot(mean).encode(x, y, **offset, **style.marks(), tooltip=_tips(figure, "mean")),
    ]
    rows = len(order_of(marks.data["x"].tolist())) * max(1, len(style.series))
    chart = _facets(layers, marks, height=max(60, 26 * rows), width=190)
    return chart.resolve_scale(x="independent", y="shared")


class _Style:
    """Scales over all series, so that each has one colour and shape in all panels; dashed lines have their own."""

    def __init__(self, figure: Figure, marks: Marks) -> None:
        data = marks.data
        self.series = order_of(data.loc[data["role"].isin(["mean", "trial"]), "series"].tolist())
        self.dashed = order_of(data.loc[data["role"].isin(["dashed", "level"]), "series"].tolist())
        shared: dict[str, Any] = {"orient": "top", "columns": 4, "labelLimit": 260}
        title = words.legend(figure.series)
        self.legend = alt.Legend(title=title, symbolOpacity=1, **shared) if any(self.series) else None
        self.dashes = alt.Legend(title=None, symbolType="stroke", symbolSize=300, symbolStrokeColor=GREY, **shared)

    def colour(self) -> alt.Color:
        colours = [_turn(COLOURS, i) for i in range(len(self.series))]
        return alt.Color("series:N", scale=alt.Scale(domain=self.series, range=colours), legend=self.legend)

    def marks(self) -> dict[str, Any]:
        shapes = [_turn(SHAPES, i) for i in range(len(self.series))]
        shape = alt.Shape("series:N", scale=alt.Scale(domain=self.series, range=shapes), legend=self.legend)
        return {"color": self.colour(), "shape": shape}

    def strokes(self) -> dict[str, Any]:
        """Colours and dashes, for lines without points."""
        dashes = [_turn([[1, 0], *DASHES], i) for i in range(len(self.series))]
        if self.legend is not None:
            self.legend["symbolType"], self.legend["symbolSize"] = "stroke", 300
        scale = alt.Scale(domain=self.series, range=dashes)
        return {"color": self.colour(), "strokeDash": alt.StrokeDash("series:N", scale=scale, legend=self.legend)}

    def lines(self) -> dict[str, Any]:
        """Of the dashed lines. Their field has another name, or Vega-Lite would put all into one legend."""
        dashes = [_turn(DASHES, i) for i in range(len(self.dashed))]
        scale = alt.Scale(domain=self.dashed, range=dashes)
        return {"strokeDash": alt.StrokeDash("line:N", scale=scale, legend=self.dashes), "color": alt.value(GREY)}

    def offset(self, channel: str) -> dict[str, Any]:
        """Beside each other where there are several."""
        return {channel: {"field": "series", "type": "nominal", "sort": self.series}} if len(self.series) > 1 else {}


def _turn(options: Sequence[Any], i: int) -> Any:
    return options[i % len(options)]


def _role(role: str) -> alt.Chart:
    return alt.Chart().transform_filter(f"datum.role === '{role}'")


def _interval(chart: alt.Chart, width: float = 1.5) -> alt.Chart:
    # Without an interval there is a line of no length: a panel without any would be an axis without an extent, which
    # Vega warns of.
    ends = {end: f"isValid(datum.{end}) ? datum.{end} : datum.y" for end in ("low", "high")}
    return chart.transform_calculate(**ends).mark_rule(strokeWidth=width)


def _dot(chart: alt.Chart, opacity: float = 1) -> alt.Chart:
    return chart.mark_point(filled=True, size=46, opacity=opacity)


def _levels(marks: Marks, style: _Style, y: alt.Y) -> list[alt.Chart]:
    if not len(marks.of("level")):
        return []
    tips = [alt.Tooltip("series:N", title="level"), alt.Tooltip("y:Q", title="mean", format=".4f"), "n:Q", "trials:N"]
    level = _role("level").transform_calculate(line="datum.series")
    return [level.mark_rule(strokeWidth=1.5).encode(y, **style.lines(), tooltip=tips)]


def _bands(marks: Marks, figure: Figure) -> list[alt.Chart]:
    """Two standard deviations around a level."""
    if not marks.of("level")["low"].notna().any():
        return []
    band = _role("level").transform_filter("isValid(datum.low)").mark_rect(opacity=0.12, color=GREY)
    return [band.encode(_y(figure, "low"), alt.Y2("high:Q"))]


def _x(figure: Figure, marks: Marks) -> alt.X:
    title = figure.x_label or words.axis(str(figure.x))
    if figure.kind == "loss":  # steps: too many for a place each
        return alt.X("x:Q", title=title)
    axis = alt.Axis(labelAngle=0, labelOverlap=True)
    return alt.X("x:O", title=title, axis=axis, sort=order_of(_sorted(marks.data["x"].dropna().tolist())))


def _sorted(values: list[Any]) -> list[Any]:
    return sorted(values) if all(isinstance(value, (int, float)) for value in values) else values


def _y(figure: Figure, field: str = "y") -> alt.Y:
    """The vertical axis. Ends of intervals have it too: an axis is called by all that is drawn on it."""
    axis = alt.Axis(
        labelFlush=True, format=NUMBER
    )  # a number that stood out above its panel would move the panel's heading
    return alt.Y(f"{field}:Q", scale=alt.Scale(zero=False), axis=axis, title=figure.y_label or "dev score")


def _tips(figure: Figure, role: str) -> list[alt.Tooltip]:
    """What hovering over a mark shows: what it is, its numbers, its trials."""
    place = [alt.Tooltip("facet:N", title=words.axis(figure.facets) if figure.facets else "metric")]
    if figure.kind != "points":
        place.append(alt.Tooltip("x:N", title=figure.x or "treatment"))
    place.append(alt.Tooltip("series:N", title=", ".join(figure.series) or "series"))
    if role == "trial":
        return [*place, alt.Tooltip("trials:N", title="trial")]
    numbers = {"y": "mean", "low": "from", "high": "to", "sd": "sd"}
    return [
        *place,
        *(alt.Tooltip(f"{field}:Q", title=title, format=".4f") for field, title in numbers.items()),
        alt.Tooltip("n:Q", title="trials"),
        alt.Tooltip("trials:N", title="by seed"),
    ]


def _facets(layers: list[alt.Chart], marks: Marks, width: int = WIDTH, height: int = HEIGHT) -> Chart:
    return panels(layers, marks, width, height, COLUMNS).resolve_scale(y="independent")


def panels(layers: list[alt.Chart], marks: Marks, width: int, height: int, columns: int) -> Chart:
    """The layers once for every facet; without facets, once."""
    data = alt.InlineData(values=records(marks.data), name="marks")
    layered = alt.layer(*layers, data=data).properties(width=width, height=height)
    facets = order_of(marks.data["facet"].tolist())
    if facets == [""]:
        return layered
    header = alt.Header(title=None, labelFontSize=12, labelFontWeight="bold")
    # Flush: panels stand in line by their own edges, not by how far the numbers at their axes reach.
    spacing = {"column": 64, "row": 84}
    chart = layered.facet(alt.Facet("facet:N", sort=facets, header=header), columns=min(columns, len(facets)))
    return chart.properties(bounds="flush", spacing=spacing).resolve_axis(x="independent")
