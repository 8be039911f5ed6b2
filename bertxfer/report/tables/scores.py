"""Scores as tables: means or medians of replicates, in a cell for each value of x and each level."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, statistics
from bertxfer.report import frame as frames
from bertxfer.report.centers import CENTERS, under_table
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.splits import named, split
from bertxfer.report.tables.table import Table, sentences
from bertxfer.store.store import Store

Cell = Callable[[Mapping[str, Any]], str]  # of a row of a summary


def summary(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """The figure's centers, as a rule means with their interval: a row for each facet and series, a column for each
    value of x and each level."""
    return _scores(results, figure, "summary", figure.center)


def medians(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """The same with medians, and the range of the trials."""
    return _scores(results, figure, "medians", "median")


def _scores(results: pd.DataFrame, figure: Figure, name: str, center: str) -> Table:
    cell = CENTERS[center].cell
    x = comparisons.x_of(results, figure)
    everywhere = frames.measured(results, figure.y)
    main = select(everywhere, figure.where)
    if figure.levels and x is not None:
        main = main[main[x].notna()]  # levels have columns of their own
    main, by = comparisons.places(main, figure)
    rows = [column for column in by if column != x]
    data = statistics.summarize(main, by, "y", figure.interval)
    cells = wide(data.assign(column=data[x].map(printed.text) if x is not None else "score"), rows, cell)
    parts = [data]
    for words, where in figure.levels.items():
        # The rows of a table differ in things that a level does not have: full BERT has no block.
        keys = comparisons.shared([column for column in rows if column in everywhere], everywhere, where)
        level, more = apart(select(everywhere, where), keys, figure)
        parts.append(level.assign(level=str(words)))
        cells[str(words)] = _matched(cells, level, keys, more, cell)
    note = sentences(str(frames.completeness(results)), under_table(center, figure.interval, data))
    title = f"{CENTERS[center].title} of scores ×100"
    title += f", columns: {figure.x_label or x}" if x is not None else ""
    return Table(name, title, cells, pd.concat(parts, ignore_index=True), note)


def apart(table: pd.DataFrame, keys: Sequence[str], figure: Figure) -> tuple[pd.DataFrame, list[str]]:
    """The summary of a selection by `keys`, and by whatever else keeps its trials from being replicates."""
    table, more = split(table, keys)
    return statistics.summarize(table, [*keys, *more], "y", figure.interval), more


def wide(data: pd.DataFrame, rows_by: Sequence[str], cell: Cell) -> pd.DataFrame:
    """A row for every combination of `rows_by`, a column for every value of x, in the order of the frame."""
    names = list(dict.fromkeys(data["column"]))
    rows: dict[tuple[Any, ...], dict[str, str]] = {}
    for record in data.to_dict("records"):
        key = tuple(printed.text(record[column]) for column in rows_by)
        rows.setdefault(key, dict.fromkeys(names, "-"))[record["column"]] = cell(record)
    cells = pd.DataFrame([{**dict(zip(rows_by, key, strict=True)), **row} for key, row in rows.items()])
    return cells if len(cells) else pd.DataFrame(columns=[*rows_by, *names])


def _matched(
    cells: pd.DataFrame, part: pd.DataFrame, keys: Sequence[str], more: Sequence[str], cell: Cell
) -> list[str]:
    """The cells of a selection, row by row. Several groups of one row stand beside each other, each with its name."""
    texts: dict[tuple[str, ...], list[str]] = {}
    for row in part.to_dict("records"):
        name_of_group = ", ".join(named(name, row[name]) for name in more)
        text = f"{name_of_group}: {cell(row)}" if name_of_group else cell(row)
        texts.setdefault(tuple(printed.text(row[key]) for key in keys), []).append(text)
    return ["; ".join(texts.get(tuple(row[key] for key in keys), ["-"])) for row in cells.to_dict("records")]
