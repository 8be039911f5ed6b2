"""kovaleva2019's table 1: a row for each task, a column for each selection that the block names, and what they gain."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import frame as frames
from bertxfer.report import words
from bertxfer.report.centers import CENTERS
from bertxfer.report.figure import Figure
from bertxfer.report.frame import is_gap, select
from bertxfer.report.splits import named
from bertxfer.report.tables.scores import apart
from bertxfer.report.tables.table import Table, sentences
from bertxfer.store.store import Store


def columns(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """Of the metrics in `figure.y` a task shows those that it has, in one cell: 87.9/82.3."""
    chosen = select(results, figure.where)
    table = frames.measured(chosen, figure.y)
    metrics = {task: list(dict.fromkeys(table.loc[table["task"] == task, "measure"])) for task in chosen["task"]}
    cells, parts = pd.DataFrame({"task": list(metrics)}), {}
    for name, where in figure.levels.items():
        part, more = apart(select(table, where), ["task", "measure"], figure)
        cells[str(name)] = [_cell(part[part["task"] == task], metrics[task], more, figure) for task in metrics]
        parts[str(name)] = part.assign(column=str(name))
    cells["metric"] = ["/".join(map(words.short_metric, names)) for names in metrics.values()]
    cells["training rows"] = [_sizes(table[table["task"] == task]) for task in metrics]
    gains = _gains(parts, metrics, CENTERS[figure.center].column)
    if len(gains):
        cells = pd.concat([cells, pd.DataFrame([_row_of_gains(gains, cells)])], ignore_index=True)
    data = pd.concat([*parts.values(), gains], ignore_index=True) if parts else pd.DataFrame()
    note = sentences(str(frames.completeness(results)), _explained(gains, metrics))
    return Table("columns", "Scores ×100", cells, data, note)


def _cell(part: pd.DataFrame, metrics: Sequence[str], more: Sequence[str], figure: Figure) -> str:
    """The scores of one task by its metrics; trials that are not replicates stand beside each other by their names."""
    groups: dict[str, dict[str, str]] = {}
    for row in part.to_dict("records"):
        name = ", ".join(named(column, row[column]) for column in more)
        groups.setdefault(name, {})[row["measure"]] = CENTERS[figure.center].cell(row)
    texts = {name: "/".join(by_metric.get(metric, "-") for metric in metrics) for name, by_metric in groups.items()}
    return "; ".join(f"{name}: {text}" if name else text for name, text in texts.items()) or "-"


def _sizes(rows: pd.DataFrame) -> str:
    """How many rows the trials of a task were given to train on."""
    known = [] if "n_train" not in rows else list(dict.fromkeys(n for n in rows["n_train"] if not is_gap(n)))
    return ", ".join(n if isinstance(n, str) else f"{int(n):,}" for n in known) or "-"


def _gains(parts: Mapping[str, pd.DataFrame], metrics: Mapping[str, Sequence[str]], center: str) -> pd.DataFrame:
    """How much higher each column is than the first, as the mean over the tasks that have both; by a task's last
    metric, so that a task with F1 and accuracy counts by its accuracy."""
    scores = {name: _scores(part, metrics, center) for name, part in parts.items()}
    if len(metrics) < 2 or len(scores) < 2:
        return pd.DataFrame()
    first, *others = scores
    rows = []
    for name in others:
        both = [scores[name][task] - scores[first][task] for task in scores[first] if task in scores[name]]
        mean = math.fsum(both) / len(both) if both else math.nan
        rows.append({"task": f"mean difference from {first}", "column": name, "mean": mean, "tasks": len(both)})
    return pd.DataFrame(rows)


def _scores(part: pd.DataFrame, metrics: Mapping[str, Sequence[str]], center: str) -> dict[str, float]:
    """The score by the last metric of each task whose trials are all replicates of each other."""
    found = {}
    for task, names in metrics.items():
        rows = part[(part["task"] == task) & (part["measure"].isin(names[-1:]))]
        if len(rows) == 1 and not is_gap(rows[center].iloc[0]):
            found[task] = float(rows[center].iloc[0])
    return found


def _row_of_gains(gains: pd.DataFrame, cells: pd.DataFrame) -> dict[str, Any]:
    texts = {row["column"]: printed.signed(100 * row["mean"]) for row in gains.to_dict("records")}
    return {**dict.fromkeys(cells.columns, ""), "task": gains["task"].iloc[0], **texts}


def _explained(gains: pd.DataFrame, metrics: Mapping[str, Sequence[str]]) -> str:
    if gains.empty:
        return ""
    several = list(dict.fromkeys(words.metric(names[-1]) for names in metrics.values() if len(names) > 1))
    by = f", by {' or '.join(several)} where a task has several metrics" if several else ""
    least, most = gains["tasks"].min(), gains["tasks"].max()
    tasks = f"{most}" if least == most else f"{least} to {most}"
    return f"the last row is the mean over {tasks} {'task' if most == 1 else 'tasks'}, in points{by}"
