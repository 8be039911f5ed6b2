"""What analyses left beside trials, as marks: a value at each x, and lines of their own beside those of the series."""

import dataclasses
from collections.abc import Callable, Iterator

import pandas as pd

from bertxfer.report import places as placed
from bertxfer.report import stored
from bertxfer.report.courses import KEYS, LOSS
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks, followed
from bertxfer.report.units import AMOUNT, AS_IT_IS, SCORE
from bertxfer.store.store import Store

Read = Callable[["pd.Series[str]", Store], pd.DataFrame]


def by_metric(
    figure: Figure, results: pd.DataFrame, store: Store, analysis: str, read: Read, value: str
) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, list[str]]]:
    """For each metric of the figure the places, the rows of the analysis with that metric as `y`, and notes; for the
    dev loss, or where `value` is a column of the analysis, once."""
    for y in figure.y if value == "score" else ("score",):
        heading = placed.task_and_metric if value == "score" else placed.task_alone
        plain = dataclasses.replace(figure, x=None, y=(LOSS if value == LOSS else y,))
        places, notes = placed.places_of(plain, results, heading=heading)
        done = places[places["state"] == "done"]
        found = read(done["id"], store)
        notes += unanalysed(done["id"], found, analysis)
        found = found.merge(done[KEYS].drop_duplicates(), on="id")
        names = found["headline"] if value == "score" else pd.Series(value, found.index)
        names = names if y == "score" else pd.Series(y.removeprefix("metrics."), found.index)
        values = [row.get(name) for row, name in zip(found.to_dict("records"), names, strict=True)]
        yield places, found.assign(y=pd.Series(values, found.index, dtype="float64")), notes


def together(parts: list[Marks]) -> Marks:
    """Of several metrics in one figure."""
    data = pd.concat([part.data for part in parts if len(part.data)] or [parts[0].data], ignore_index=True)
    return Marks(data, list(dict.fromkeys(note for part in parts for note in part.notes)))


def lines(
    places: pd.DataFrame, each: pd.DataFrame, figure: Figure, notes: list[str], unit: str, columns: tuple[str, ...] = ()
) -> Marks:
    """Means over seeds of the rows id, headline, x, y, and `series`, the words of a line among those of its place."""
    return followed(places, each[[*KEYS, "x", "y", *columns]], figure.interval, notes, unit)


def unit_of(figure: Figure) -> str:
    """The unit of what `measure` names: a score, a loss, or a change that is in points already."""
    (value,) = figure.measure["value"]
    return {"score": SCORE, LOSS: AMOUNT}.get(value, AS_IT_IS)


def unanalysed(ids: "pd.Series[str]", table: pd.DataFrame, analysis: str) -> list[str]:
    """A note where trials were run without the analysis that a figure draws."""
    without = len(stored.without_rows(ids, table))
    note = f"{without} finished trials have no {analysis}.parquet; run them with analysis=[{analysis}]."
    return [note] if without else []
