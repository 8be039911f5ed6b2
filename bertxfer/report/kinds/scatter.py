"""Curves with every trial as a point; the line through the means is dotted, as tamkin2020's figure 5 has it."""

import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.charts import Chart, x_axis, y_axis
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.curves import NEEDS_X
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks
from bertxfer.report.style import Style
from bertxfer.report.units import SCORE
from bertxfer.store.store import Store

DOTTED = [0.1, 4]  # dots as wide as the line, with its round caps


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    return made.scores(figure, results, dashed, trials=True)


def chart(figure: Figure, marks: Marks) -> Chart:
    style = Style(figure, marks)
    line = charts.joined().mark_line(strokeWidth=2, strokeDash=DOTTED, strokeCap="round")
    x, y = x_axis(figure, marks), y_axis(figure)
    line = line.encode(x, y, color=style.colour(), **charts.beside(marks, style))
    return charts.over_x(figure, marks, style, [line])


CAPTION = "Each small point is a trial; the dotted line joins the means."
KIND = Kind("scatter", marks, chart, unit=SCORE, caption=CAPTION, needs=NEEDS_X)
