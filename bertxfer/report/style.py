"""How series are distinguished: by colour (Okabe and Ito's, for colour-blind readers too) and by shape."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from bertxfer.report import words
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, order_of

# Okabe and Ito without black, which dark pages lose, and without yellow, which white paper loses.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]
GREY = "#7a7a7a"
SHAPES = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
DASHES = [[6, 4], [2, 3], [8, 3, 2, 3], [12, 3]]


class Style:
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
