"""Layers by heads as a chart: a cell for each, coloured by its value."""

import altair as alt

from bertxfer.report import words
from bertxfer.report.charts import Chart, panels
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, order_of

CELL = 25


def layers_by_heads(
    figure: Figure, marks: Marks, colour: alt.Color, tips: list[alt.Tooltip], text: alt.Chart | None = None
) -> Chart:
    """A cell for every layer and head, with `text` written into the cells where there is any."""
    heads, layers = (order_of(sorted(marks.data[axis].tolist())) for axis in ("head", "layer"))
    x = alt.X("head:O", sort=heads, title=figure.x_label or words.axis("head"), axis=alt.Axis(labelAngle=0))
    y = alt.Y("layer:O", sort=layers, title=figure.y_label or words.axis("layer"))
    drawn = [alt.Chart().mark_rect().encode(x, y, color=colour, tooltip=tips)]
    if text is not None:
        drawn.append(text.encode(x, y))
    return panels(drawn, marks, CELL * max(1, len(heads)), CELL * max(1, len(layers)), 2)


def of_cell(*numbers: alt.Tooltip) -> list[alt.Tooltip]:
    """What hovering over a cell shows."""
    return [alt.Tooltip("facet:N", title="task"), alt.Tooltip("layer:O"), alt.Tooltip("head:O"), *numbers]
