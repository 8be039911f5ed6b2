"""Layers by heads as a chart: a cell for each, coloured by its value."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from bertxfer.report import charts, words
from bertxfer.report.charts import WIDTH, Chart, data_of, panels
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, order_of

CELL = 34
COLUMNS = 2  # of panels, whose cells have numbers


def layers_by_heads(
    figure: Figure, marks: Marks, colour: alt.Color, tips: list[alt.Tooltip], texts: Sequence[alt.Chart] = ()
) -> Chart:
    """A cell for every layer and head, with `texts` written into the cells."""
    x, y, wide, high = _axes(figure, marks)
    drawn = [alt.Chart().mark_rect().encode(x, y, color=colour, tooltip=tips)]
    drawn += [text.encode(x, y) for text in texts]
    return panels(drawn, marks, max(WIDTH, CELL * wide), CELL * high, COLUMNS)


def grid(
    figure: Figure, marks: Marks, by: str, colours: Mapping[str, alt.Color], tips: list[alt.Tooltip]
) -> alt.VConcatChart:
    """A row of panels for each value of the column `by`, with a colour scale of its own; a column for each facet."""
    x, y, wide, high = _axes(figure, marks)
    data = data_of(marks)
    rows = []
    for value, colour in colours.items():
        cells = alt.Chart().transform_filter(f"datum.{by} === '{value}'").mark_rect()
        layers = [cells.encode(x, y, color=colour, tooltip=tips)]
        rows.append(panels(layers, marks, WIDTH, WIDTH * high // wide, charts.COLUMNS, data=data))
    return alt.vconcat(*rows, spacing=28).resolve_scale(color="independent")


def legend(title: str, values: Sequence[float], form: str) -> alt.Legend:
    """Of a colour scale: long enough to read, with both of its ends labelled."""
    more: dict[str, Any] = {"gradientLength": 220, "titleFontSize": 13, "titleLimit": 400}
    return alt.Legend(title=title, orient="top", values=list(values), format=form, **more)


def _axes(figure: Figure, marks: Marks) -> tuple[alt.X, alt.Y, int, int]:
    """Heads and layers, and how many there are of each."""
    heads, layers = (order_of(sorted(marks.data[axis].tolist())) for axis in ("head", "layer"))
    axis = alt.Axis(labelAngle=0, labelOverlap=True, labelSeparation=2)
    x = alt.X("head:O", sort=heads, title=figure.x_label or words.axis("head"), axis=axis)
    y = alt.Y("layer:O", sort=layers, title=figure.y_label or words.axis("layer"), axis=alt.Axis(labelOverlap=True))
    return x, y, max(1, len(heads)), max(1, len(layers))


def of_cell(*numbers: alt.Tooltip) -> list[alt.Tooltip]:
    """What hovering over a cell shows."""
    return [alt.Tooltip("facet:N", title="task"), alt.Tooltip("layer:O"), alt.Tooltip("head:O"), *numbers]
