"""cs224n2020's figure 2 as a table: final task by intermediate task; the diagonal is the task alone, the baseline."""

import math

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import frame as frames
from bertxfer.report import statistics
from bertxfer.report.figure import Figure
from bertxfer.report.frame import is_gap, select
from bertxfer.report.splits import split
from bertxfer.report.tables.table import Table
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
    records = data.to_dict("records")
    rows = list(dict.fromkeys(tuple(row[column] for column in by) for row in records))
    firsts = list(dict.fromkeys([*data["task"], *data["first"]]))
    by_cell = {(*(row[column] for column in by), row["first"]): row for row in records}
    cells = pd.DataFrame({"final task": [row[0] for row in rows]})
    for i, name in enumerate(more, start=2):
        cells[name] = [printed.text(row[i]) for row in rows]
    bold, shaded = set(), set()
    for first in firsts:
        column = [by_cell.get((*row, first), {"mean": math.nan, "undefined": 0}) for row in rows]
        cells[first] = [printed.fixed(cell["mean"], 3) + printed.undefined(cell) for cell in column]
    for i, row in enumerate(rows):
        means = {first: by_cell[(*row, first)]["mean"] for first in firsts if (*row, first) in by_cell}
        means = {first: value for first, value in means.items() if not is_gap(value)}
        shaded |= {(i, first) for first, value in means.items() if value == max(means.values())}
        bold |= {
            (i, first) for first, value in means.items() if first != row[0] and value > means.get(row[0], math.inf)
        }
    cells["metric"] = [row[1] for row in rows]
    note = "Columns: the intermediate task. Shaded: the best of a row; bold: above the diagonal, the task alone"
    note = f"{frames.completeness(results)}. {note}"
    most = int(data["n"].max()) if len(data) else 0
    note += f". At most {most} trials per cell: too few for a claim" if most < statistics.FEWEST_PAIRS else ""
    title = "Final task (rows) after an intermediate task (columns)"
    return Table("matrix", title, cells, data, note, frozenset(bold), frozenset(shaded))
