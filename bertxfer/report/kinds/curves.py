"""Means against x with their intervals, a line for each value of the series."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bertxfer.report import charts
from bertxfer.report import marks as made
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, only_scheme, varies
from bertxfer.report.marks import Marks
from bertxfer.report.units import SCORE
from bertxfer.store.store import Store

NEEDS_X = {"x": "needs the column of its horizontal axis"}


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    return made.scores(figure, results, dashed)


def _suits(results: pd.DataFrame) -> Mapping[str, Any] | None:
    if only_scheme(results, "incremental") and varies(results, "k"):
        return {"x": "k"}
    if only_scheme(results, "localized") and varies(results, "block"):
        return {"x": "block", "series": ["preserve"] if varies(results, "preserve") else []}
    return None


KIND = Kind("curves", marks, charts.curves, unit=SCORE, needs=NEEDS_X, any_center=True, suits=_suits)
