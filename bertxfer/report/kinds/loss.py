"""The training loss against iterations, from history.jsonl."""

import dataclasses

import altair as alt
import numpy as np
import pandas as pd

from bertxfer.report import charts, stored
from bertxfer.report import places as placed
from bertxfer.report.charts import Chart, role, y_axis
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind, counted
from bertxfer.report.marks import Marks, as_first_seen
from bertxfer.report.places import KEYS
from bertxfer.report.style import Style
from bertxfer.report.units import AMOUNT
from bertxfer.store.store import Store

POINTS = 120  # of a curve; more cannot be seen in a panel


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    """Losses averaged within up to 120 stretches of steps, and over seeds."""
    places, notes = placed.places_of(dataclasses.replace(figure, x=None), results, heading=placed.task_alone)
    done = places[places["state"] == "done"]
    history = stored.history(done["id"], store)
    history = history[history["loss"].notna()] if "loss" in history else history
    steps = history.merge(done[["id", "steps"]].drop_duplicates(), on="id")
    width = np.maximum(1, np.ceil(steps["steps"].astype("float64") / POINTS))
    steps["x"] = (((steps["step"] - 1) // width + 1) * width).clip(upper=steps["steps"].astype("float64")).astype(int)
    each = steps.groupby(["id", "x"], sort=False)["loss"].mean().rename("y").reset_index()
    joined = done.drop(columns=["x", "y"]).merge(each, on="id")
    # Many marks, and none that needs its trials listed: averaged directly.
    groups = joined.groupby([*KEYS, "task", "size"], sort=False, dropna=False)
    data = as_first_seen(groups.agg(y=("y", "mean"), n=("id", "nunique")).reset_index(), joined)
    return Marks(data.assign(role="mean", low=np.nan, high=np.nan, sd=np.nan, trials=""), notes)


def chart(figure: Figure, marks: Marks) -> Chart:
    """Too many points to show, and too many steps for a tick each: series differ in dashes instead of shapes."""
    figure = charts.labelled(figure, "step", "training loss")
    x, y, style, mean = alt.X("x:Q", title=figure.x_label), y_axis(figure), Style(figure, marks), role("mean")
    layers = [
        mean.mark_line(strokeWidth=2).encode(x, y, **style.strokes()),
        charts.dot(mean, 0).encode(x, y, tooltip=charts.tips(figure, "mean")),  # only to be hovered over
    ]
    return charts.facets(layers, marks)


def _caption(figure: Figure, marks: Marks) -> str:
    several = marks.data["n"].max() > 1
    return "Means over neighbouring steps" + (f" and {counted(marks.data['n'], 'trial')}." if several else ".")


KIND = Kind("loss", marks, chart, unit=AMOUNT, caption=_caption, has_bars=False)
