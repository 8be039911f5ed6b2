"""Means with bars of two standard deviations, beside each other and not joined."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bertxfer.report import charts
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.curves import NEEDS_X, marks
from bertxfer.report.kinds.kind import Kind, only_scheme, varies
from bertxfer.report.marks import Marks
from bertxfer.report.style import Style
from bertxfer.report.units import SCORE


def chart(figure: Figure, marks: Marks) -> Chart:
    return charts.over_x(figure, marks, Style(figure, marks), [])


def _suits(results: pd.DataFrame) -> Mapping[str, Any] | None:
    return {"x": "layer"} if only_scheme(results, "single") and varies(results, "layer") else None


KIND = Kind("bars", marks, chart, unit=SCORE, interval="sd2", needs=NEEDS_X, suits=_suits)
