"""The dev score after each epoch, from history.jsonl."""

import dataclasses

import pandas as pd

from bertxfer.report import charts, stored
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Kind
from bertxfer.report.marks import Marks, followed
from bertxfer.report.places import places_of
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    places, notes = places_of(dataclasses.replace(figure, x=None), results)
    done = places[places["state"] == "done"]
    history = stored.history(done["id"], store)
    if "epoch" in history:
        history = history[history["epoch"].notna()]
    history = history.merge(done[["id", "headline"]].drop_duplicates(), on="id")
    history["x"] = history["epoch"].astype("int64") if len(history) else []
    history["y"] = [row.get(row["headline"]) for row in history.to_dict("records")]
    return followed(places, history[["id", "x", "y"]].astype({"y": "float64"}), figure.interval, notes)


def chart(figure: Figure, marks: Marks) -> Chart:
    return charts.curves(charts.labelled(figure, "epoch", "dev score"), marks)


KIND = Kind("epochs", marks, chart)
