"""The places of a chart: every row of the results under its facet, series, x and y, and unlike trials kept apart."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import splits, words
from bertxfer.report.figure import Figure
from bertxfer.report.frame import having, select
from bertxfer.sweeps.deciding import NOT_NEEDED

KEYS = ["facet", "series", "x"]
Heading = Callable[[pd.DataFrame, Figure, str], "pd.Series[Any]"]  # of the places, their figure and its y


def task_and_metric(table: pd.DataFrame, figure: Figure, y: str) -> "pd.Series[Any]":
    """The words over a panel of scores: the task, and what is measured on it."""
    metric = table["headline"].map(words.metric) if y == "score" else words.metric(y)
    if figure.facets is None:
        return pd.Series("", index=table.index) + metric
    return task_alone(table, figure, y) + " (" + metric + ")"


def task_alone(table: pd.DataFrame, figure: Figure, y: str) -> "pd.Series[Any]":
    """The words over a panel of something other than scores."""
    facets = figure.facets
    return pd.Series("", table.index) if facets is None else table[facets].map(lambda value: words.value(facets, value))


def places_of(
    figure: Figure,
    results: pd.DataFrame,
    named: str | None = None,
    apart: str = "series",
    heading: Heading = task_and_metric,
) -> tuple[pd.DataFrame, list[str]]:
    """The places of a figure with their facet, series, x and y; a place of several metrics stands once for each.

    Unlike trials of one mark get series of their own, or facets where a figure has no series. The notes say what is
    missing and what was split.
    """
    chosen = select(results, figure.where)
    for column in (*figure.series, *([figure.facets] if figure.facets else [])):
        if column not in results:
            raise ConfigError("figure", f"{column!r} is not a column of the results; it was not an axis of this sweep")
    tables = []
    for y in figure.y:
        if y not in chosen:
            # No trial with this metric is done: its places are missing, which the notes say.
            chosen = chosen.assign(**{y: np.nan})
        rows = having(chosen, y)
        table = rows.assign(y=rows[y].astype("float64"), series=_series(rows, figure) if named is None else named)
        table["facet"] = heading(table, figure, y)
        table["x"] = _x(table, figure)
        table["size"] = sizes(table)
        table["metric"] = rows["headline"] if y == "score" else y.removeprefix("metrics.")
        tables.append(table)
    places, without = _with_x(pd.concat(tables, ignore_index=True), figure)
    places, split = _split(places.drop_duplicates([*KEYS, "id"]), apart)
    return places, [*_missing(places), *without, *split]


def sizes(table: pd.DataFrame) -> "pd.Series[Any]":
    """How much data a trial was trained on, as the filter of the page shows it."""
    size = "n=" + table["data.n"].astype("str")
    fraction = table["data.fraction"].astype("float64")
    return size.where(fraction.isna(), (100 * fraction).map(lambda share: f"{share:g}%"))


def _series(table: pd.DataFrame, figure: Figure) -> Any:
    """The words of the legend."""
    columns = [table[column].map(lambda value, c=column: _word(value, c, figure)) for column in figure.series]
    return (
        ""
        if not columns
        else columns[0]
        if len(columns) == 1
        else [", ".join(row) for row in zip(*columns, strict=True)]
    )


def _word(value: Any, column: str, figure: Figure) -> str:
    if pd.isna(value):
        return f"no {words.axis(column)}"
    label = figure.series_labels.get(value) or words.value(column, value)
    return label if len(figure.series) == 1 else words.named(column, label)


def _x(table: pd.DataFrame, figure: Figure) -> Any:
    if figure.x is None:
        return 0
    if figure.x not in table:
        raise ConfigError("figure.x", f"{figure.x!r} is not a column of the results; it was not an axis of this sweep")
    return table[figure.x]


def _with_x(places: pd.DataFrame, figure: Figure) -> tuple[pd.DataFrame, list[str]]:
    """Without the places that have no x; those that a level names belong there, the others are counted in a note."""
    without = places[places["x"].isna()]
    for where in figure.levels.values():
        without = without.drop(select(without, where).index)
    count = without["id"].nunique()
    note = [f"{count} trials have no value of {figure.x} and are not drawn."] if count else []
    return places[places["x"].notna()], note


def _split(places: pd.DataFrame, into: str) -> tuple[pd.DataFrame, list[str]]:
    """Series (or facets) of their own for trials that are not replicates of each other."""
    places, names = splits.split(places, KEYS)
    if not names:
        return places, []
    labels = [places[name].map(lambda value, name=name: splits.named(name, value)) for name in names]
    named = [", ".join(filter(None, row)) for row in zip(places[into], *labels, strict=True)]
    return places.assign(**{into: named}), [f"Trials that differ in {', '.join(names)} are drawn apart, not averaged."]


def _missing(places: pd.DataFrame) -> list[str]:
    trials = places.drop_duplicates("id")
    missing = trials[~trials["state"].isin(["done", NOT_NEEDED])]
    spared = int((trials["state"] == NOT_NEEDED).sum())
    notes = (
        [f"{spared} of the {len(trials)} trials of this figure were not needed to decide the claims."] if spared else []
    )
    if len(missing):
        failed = int((missing["state"] == "failed").sum())
        note = f"{len(missing)} of the {len(trials)} trials of this figure have no result"
        notes.append(f"{note} ({failed} of them failed)." if failed else f"{note} yet.")
    done = places[places["state"] == "done"]
    undefined = done.loc[done["y"].isna(), "id"].nunique()
    if undefined:
        notes.append(f"{undefined} of {done['id'].nunique()} trials have no defined score; no mean includes them.")
    empty = int((~done.assign(there=done["y"].notna()).groupby(KEYS, dropna=False)["there"].any()).sum())
    if empty:
        notes.append(
            f"{empty} {'place' if empty == 1 else 'places'} of the figure {'is' if empty == 1 else 'are'} empty for "
            "that reason."
        )
    return notes
