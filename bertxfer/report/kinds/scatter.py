"""Curves with every trial as a point."""

import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.charts import Chart, role, tips, x_axis, y_axis
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.curves import NEEDS_X
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks
from bertxfer.report.style import Style
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    return made.scores(figure, results, dashed, trials=True)


def chart(figure: Figure, marks: Marks) -> Chart:
    x, y, style = x_axis(figure, marks), y_axis(figure), Style(figure, marks)
    trials = role("trial").mark_point(opacity=0.35, size=14, filled=True)
    line = role("mean").mark_line(strokeWidth=2).encode(x, y, color=style.colour())
    return charts.over_x(
        figure, marks, style, [trials.encode(x, y, **style.marks(), tooltip=tips(figure, "trial")), line]
    )


KIND = Kind("scatter", marks, chart, caption="Each small point is a trial; the line joins the means.", needs=NEEDS_X)
