"""The distance between weights before and after fine-tuning, layer by layer, from weights.parquet."""

import dataclasses

import pandas as pd

from bertxfer.report import charts, stored
from bertxfer.report import places as placed
from bertxfer.report.analysed import unanalysed
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks, followed
from bertxfer.report.units import AMOUNT
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    wanted = {"reference": "pretrained", "module": "feedforward.output", "value": "distance", **(figure.measure or {})}
    places, notes = placed.places_of(dataclasses.replace(figure, x=None), results, heading=placed.task_alone)
    ids = places.loc[places["state"] == "done", "id"]
    moved = stored.weights(ids, store)
    notes += unanalysed(ids, moved, "weights")
    moved = moved[(moved["reference"] == wanted["reference"]) & (moved["module"] == wanted["module"])]
    each = pd.DataFrame({"id": moved["id"], "x": moved["layer"], "y": moved[wanted["value"]].astype("float64")})
    return followed(places, each, figure.interval, notes)


def chart(figure: Figure, marks: Marks) -> Chart:
    relative = isinstance(figure.measure, dict) and figure.measure.get("value") == "relative"
    y_label = "L2 distance / norm" if relative else "L2 distance from the pretrained weights"
    return charts.curves(charts.labelled(figure, "layer", y_label), marks)


KIND = Kind("weights", marks, chart, unit=AMOUNT)
