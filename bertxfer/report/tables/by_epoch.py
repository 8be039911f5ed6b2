"""Dev scores or dev losses after chosen epochs: how much is gained by training longer."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bertxfer.report import comparisons, statistics
from bertxfer.report import frame as frames
from bertxfer.report.cells import interval_words, mean_cell
from bertxfer.report.courses import KEYS, LOSS, courses, is_loss, left_out
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.tables.scores import wide
from bertxfer.report.tables.table import Table, sentences
from bertxfer.store.store import Store


def by_epoch(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each facet and series, a column for each of the figure's epochs, or for each that a trial has ended."""
    loss = is_loss(figure)
    measured = frames.measured(results, [LOSS] if loss else ["score"])
    table, by = comparisons.places(select(measured, figure.where), figure)
    done = table[table["state"] == "done"].drop_duplicates([*by, "id"])
    found = courses(done, figure, store)
    epochs = figure.epochs or tuple(sorted(set(found["epoch"])))
    reached = done.drop(columns="y").merge(found[found["epoch"].isin(epochs)], on=KEYS)
    data = statistics.summarize(reached, [*by, "epoch"], "y", figure.interval)
    data = data.sort_values("epoch", kind="stable")
    rows = wide(data.assign(column=[f"epoch {epoch}" for epoch in data["epoch"]]), by, _loss if loss else mean_cell)
    cells = rows.reindex(columns=[*by, *(f"epoch {epoch}" for epoch in epochs)], fill_value="-")
    last = found.groupby("id")["epoch"].max()
    early = int((last < max(epochs, default=0)).sum())
    note = sentences(
        str(frames.completeness(results)),
        interval_words(figure.interval, data),
        left_out(done, found, loss),
        f"{early} of {len(last)} trials ended before epoch {max(epochs)}" if early else "",
    )
    title = "Dev losses after epochs of training" if loss else "Dev scores ×100 after epochs of training"
    return Table("by_epoch", title, cells, data, note)


def _loss(row: Mapping[str, Any]) -> str:
    return mean_cell(row, times=1, digits=3)
