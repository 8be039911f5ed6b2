"""The dev loss, or the dev score, along the straight line through fine-tuning, from path.parquet."""

import pandas as pd

from bertxfer.report import analysed, charts, stored
from bertxfer.report.charts import Chart
from bertxfer.report.courses import LOSS
from bertxfer.report.figure import Figure
from bertxfer.report.kinds.kind import Choice, Kind
from bertxfer.report.marks import Marks
from bertxfer.store.store import Store


def marks(figure: Figure, results: pd.DataFrame, store: Store, dashed: pd.DataFrame | None) -> Marks:
    (value,) = figure.measure["value"]
    parts = [
        analysed.lines(places, found.assign(x=found["alpha"]), figure, notes, analysed.unit_of(figure))
        for places, found, notes in analysed.by_metric(figure, results, store, "path", stored.path, value)
    ]
    return analysed.together(parts)


def chart(figure: Figure, marks: Marks) -> Chart:
    label = "dev loss" if figure.measure["value"] == (LOSS,) else "dev score"
    return charts.curves(charts.labelled(figure, "alpha", label), marks)


KIND = Kind(
    "path",
    marks,
    chart,
    unit=analysed.unit_of,
    measures={"value": Choice((LOSS, "score"), (LOSS,), several=False)},
)
