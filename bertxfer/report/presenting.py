"""Marks as a reader sees them: scores in points (×100), bars within what a metric can be, series beside each other."""

import dataclasses
import math

import numpy as np
import pandas as pd

from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks, order_of
from bertxfer.report.units import AMOUNT, LOGARITHMIC, POINTS, SCORE, are_numbers, limits

_SCORES = ("y", "low", "high", "sd")
_OVER_X = ("mean", "trial", "dashed", "missing")
_APART, _TOGETHER = 0.16, 0.7  # of the way to the next x: between two series, and all of them at most
_OF_PANEL = 0.012  # of its width, some five pixels: bars need no more


def presented(marks: Marks, figure: Figure, kind: Kind) -> Marks:
    """What the chart is drawn from; the numbers behind it stay as they were computed."""
    unit = kind.unit_of(figure)
    data = marks.data
    if unit == SCORE:
        data = _within(data)
        data = data.assign(**{name: POINTS * data[name].astype("float64") for name in _SCORES if name in data})
    elif unit == AMOUNT:
        data = _cut(data, pd.Series(0.0, data.index), pd.Series(math.inf, data.index))
    at = _beside_each_other(data, figure)
    return dataclasses.replace(marks, data=data if at is None else data.assign(at=at))


def _within(data: pd.DataFrame) -> pd.DataFrame:
    """Bars and densities end where scores end: no accuracy is above 1."""
    if "metric" not in data:
        return data
    ends = {metric: limits(metric) for metric in data["metric"].unique()}
    lowest, highest = (data["metric"].map(lambda metric, i=i: ends[metric][i]) for i in (0, 1))
    outside = (data["role"] == "density") & ~data["y"].between(lowest, highest)
    return _cut(data, lowest, highest)[~outside]


def _cut(data: pd.DataFrame, lowest: "pd.Series[float]", highest: "pd.Series[float]") -> pd.DataFrame:
    ends = [name for name in ("low", "high") if name in data]
    return data.assign(**{name: data[name].astype("float64").clip(lowest, highest) for name in ends})


def is_cut(marks: Marks, figure: Figure, kind: Kind) -> bool:
    """Whether a bar of the chart ends where its metric ends."""
    if kind.unit_of(figure) != SCORE or "low" not in marks.data or "metric" not in marks.data:
        return False
    before, after = marks.data, _within(marks.data)
    both = before.loc[after.index]
    return bool(((both["low"] < after["low"]) | (both["high"] > after["high"])).any())


def _beside_each_other(data: pd.DataFrame, figure: Figure) -> "pd.Series[float] | None":
    """Where each mark stands on an axis of numbers: at its x, a little aside where there are several series."""
    over = data["role"].isin(_OVER_X) & data["x"].notna() if "x" in data and "series" in data else None
    if over is None or not over.any() or not are_numbers(data.loc[over, "x"].tolist()):
        return None
    x = data["x"].where(over).astype("float64")
    scale = np.log if figure.x in LOGARITHMIC and (x[over] > 0).all() else (lambda values: values)
    values = np.unique(scale(x[over].to_numpy()))
    gap = float(np.diff(values).min()) if len(values) > 1 else 0.0
    names = order_of(data.loc[over, "series"].tolist())
    reach = float(np.ptp(values)) if len(values) > 1 else 0.0
    step = min(gap * min(_APART, _TOGETHER / len(names)), _OF_PANEL * reach)
    turn = data["series"].map({name: i - (len(names) - 1) / 2 for i, name in enumerate(names)})
    aside = scale(x) + step * turn
    return np.exp(aside) if scale is np.log else aside
