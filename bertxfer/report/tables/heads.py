"""Heads as tables: the difference that each attention head makes, and its quartiles by layer and by head."""

import math
from dataclasses import replace

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, statistics
from bertxfer.report.figure import Figure
from bertxfer.report.splits import SHOWN_BY, split
from bertxfer.report.tables.table import Table, sentences
from bertxfer.report.units import POINTS
from bertxfer.store.store import Store

STATISTICS = ["count", "mean", "sd", "min", "25%", "50%", "75%", "max"]


def heads(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 5 and 6: layers by heads, the difference from the baseline with that head reinitialized."""
    data, by = differences(results, figure)
    numbers = sorted(set(data["head"]))
    rows = sorted({(*(row[column] for column in by), row["layer"]) for row in data.to_dict("records")})
    by_cell = {(*(row[c] for c in by), row["layer"], row["head"]): row["difference"] for row in data.to_dict("records")}
    cells = pd.DataFrame({column: [printed.text(row[i]) for row in rows] for i, column in enumerate(by)})
    cells["layer"] = [f"layer {printed.text(row[-1])}" for row in rows]
    for head in numbers:
        cells[f"head {printed.text(head)}"] = [
            printed.signed(POINTS * by_cell.get((*row, head), math.nan)) for row in rows
        ]
    trials = int(data["n"].max()) if len(data) else 0
    few = "" if trials >= statistics.FEWEST_PAIRS else f"at most {trials} trials per head: too few for a claim"
    note = sentences(few, _without_a_score(data))
    return Table(
        "heads", "Difference from the baseline with one attention head reinitialized, in points", cells, data, note
    )


def quartiles_by_layer(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 7 and 8: the differences of heads, summarized by layer."""
    return _quartiles(results, figure, "layer")


def quartiles_by_head(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 9 and 10: the same by head, as they print it: a column for each head."""
    made = _quartiles(results, figure, "head")
    return replace(made, cells=_turned(made.cells, "head"))


def differences(results: pd.DataFrame, figure: Figure) -> tuple[pd.DataFrame, list[str]]:
    """The mean paired difference for every task, layer and head, and the columns of different tasks and settings."""
    table = results if "head" in results else results.assign(head=None, layer=None)
    # The words of a treatment name the layer and the head, so here they would tell every head apart.
    table, more = split(table, ["task", "layer", "head"], [shown for shown in SHOWN_BY if shown[0] != "treatment"])
    by, baseline = ["task", *more, "layer", "head"], comparisons.only_baseline(figure, "a table of heads")
    shared = comparisons.shared(["task", *more], table, baseline)
    compared = statistics.differences(table, by, baseline, shared)
    compared = compared[compared["head"].notna()].rename(columns={"mean": "difference"})
    apart = [*(["task"] if compared["task"].nunique() > 1 else []), *more]
    return compared[[*by, "n", "undefined", "difference", "words"]].reset_index(drop=True), apart


def _quartiles(results: pd.DataFrame, figure: Figure, by: str) -> Table:
    every, apart = differences(results, figure)
    data = statistics.quartiles(every, by, "difference", apart)
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in apart})
    cells[by] = [f"{by} {printed.text(value)}" for value in data[by]]
    cells["count"] = data["count"].astype(int).map(str)
    for column in STATISTICS[1:]:
        cells[column] = [printed.fixed(POINTS * value, 2) for value in data[column]]
    return Table(
        f"quartiles_by_{by}", f"Differences from the baseline by {by}, in points", cells, data, _without_a_score(every)
    )


def _turned(cells: pd.DataFrame, by: str) -> pd.DataFrame:
    """Rows for what were columns: a row for each statistic, and a column for each value of `by`."""
    apart = [column for column in cells if column not in (by, *STATISTICS)]
    long = cells.melt([*apart, by], STATISTICS, "statistic")
    order = {name: i for i, name in enumerate([*cells[by], *STATISTICS])}
    wide = long.set_index([*apart, "statistic", by])["value"].unstack(by).fillna("-")
    wide = wide[sorted(wide.columns, key=order.__getitem__)].reset_index()
    wide.columns.name = None
    by_rows = wide.sort_values("statistic", key=lambda column: column.map(order), kind="stable")
    return by_rows.sort_values(apart, kind="stable", ignore_index=True) if apart else by_rows.reset_index(drop=True)


def _without_a_score(heads: pd.DataFrame) -> str:
    undefined, empty = int(heads["undefined"].sum()), int((heads["n"] == 0).sum())
    if not undefined:
        return ""
    return f"{undefined} pairs have no defined score and are left out; {empty} of {len(heads)} heads have no other"
