"""The dev score or the dev loss after each epoch."""

import dataclasses

import pandas as pd

from bertxfer.report import charts
from bertxfer.report import places as placed
from bertxfer.report.charts import Chart
from bertxfer.report.courses import LOSS, courses, is_loss, left_out
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks, followed
from bertxfer.report.units import AMOUNT, SCORE
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    done = select(results, {**figure.where, "state": "done"})
    each = courses(done, figure, store).rename(columns={"epoch": "x"})
    plain, heading = dataclasses.replace(figure, x=None), placed.task_and_metric
    if is_loss(figure):
        plain, heading = dataclasses.replace(plain, y=(LOSS,)), placed.task_alone
    notes = [f"{note}." for note in [left_out(done, each, is_loss(figure))] if note]
    results = results[results["id"].isin(each["id"]) | (results["state"] != "done")]
    places, more = placed.places_of(plain, results, heading=heading)
    return followed(places, each, figure.interval, [*notes, *more], _unit(figure))


def chart(figure: Figure, marks: Marks) -> Chart:
    return charts.curves(charts.labelled(figure, "epoch", "dev loss" if is_loss(figure) else None), marks)


def _unit(figure: Figure) -> str:
    return AMOUNT if is_loss(figure) else SCORE


KIND = Kind("epochs", marks, chart, unit=_unit)
