"""cs224n2020's figure 2 as a table: final task by intermediate task; the diagonal is the task alone, the baseline."""

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import frame as frames
from bertxfer.report import statistics
from bertxfer.report.centers import CENTERS, under_table
from bertxfer.report.figure import Figure
from bertxfer.report.frame import is_gap, select
from bertxfer.report.splits import split
from bertxfer.report.tables.table import Table, sentences
from bertxfer.report.units import POINTS, UNIT
from bertxfer.store.store import Store


def matrix(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each final task, and for each kind of trials where a cell would have several."""
    table = select(frames.measured(results, figure.y), figure.where)
    if "intermediate" not in table:
        table["intermediate"] = None
    table["first"] = table["intermediate"].where(table["intermediate"].notna(), table["task"])
    table, more = split(table, ["task", "first", "measure"])
    by = ["task", "measure", *more]
    data = statistics.summarize(table, [*by, "first"], "y", figure.interval)
    value_of = CENTERS[figure.center].column
    records = data.to_dict("records")
    rows = list(dict.fromkeys(tuple(row[column] for column in by) for row in records))
    firsts = list(dict.fromkeys([*data["task"], *data["first"]]))
    by_cell = {(*(row[column] for column in by), row["first"]): row for row in records}
    cells = pd.DataFrame({"final task": [row[0] for row in rows]})
    for i, name in enumerate(more, start=2):
        cells[name] = [printed.text(row[i]) for row in rows]
    bold, shaded = set(), set()
    for first in firsts:
        column = [by_cell.get((*row, first), {value_of: math.nan, "undefined": 0}) for row in rows]
        cells[first] = [_cell(cell, figure.center) + printed.undefined(cell) for cell in column]
    for i, row in enumerate(rows):
        shown = {first: by_cell[(*row, first)][value_of] for first in firsts if (*row, first) in by_cell}
        shown = {first: value for first, value in shown.items() if not is_gap(value)}
        if len(set(shown.values())) > 1:  # where all are equal, none is the best of them
            shaded |= {(i, first) for first, value in shown.items() if value == max(shown.values())}
        bold |= {
            (i, first) for first, value in shown.items() if first != row[0] and value > shown.get(row[0], math.inf)
        }
    cells["metric"] = [row[1] for row in rows]
    marked = "Shaded: the highest of a row, unless all are equal; bold: above the diagonal, the task alone"
    note = f"Columns: the intermediate task. {marked}"
    runs = under_table(figure.center, figure.interval, data) if figure.center != "mean" else ""
    note = sentences(str(frames.completeness(results)), note, f"cells: {runs}" if runs else "")
    most = int(data["n"].max()) if len(data) else 0
    note += f". At most {most} trials per cell: too few for a claim" if most < statistics.FEWEST_PAIRS else ""
    title = f"Final task (rows) after an intermediate task (columns), scores {UNIT}"
    return Table("matrix", title, cells, data, note, frozenset(bold), frozenset(shaded))


def _cell(row: Mapping[str, Any], center: str) -> str:
    text = printed.fixed(POINTS * row[CENTERS[center].column], 1)
    return (
        f"{text} ({POINTS * row['min']:.1f} to {POINTS * row['max']:.1f})"
        if center == "median" and row.get("n", 0) > 1
        else text
    )
