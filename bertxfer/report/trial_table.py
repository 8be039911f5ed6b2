"""All trials of a sweep as one table to sort and search, and what went wrong with them, by reason."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertxfer.report import words
from bertxfer.report.frame import is_gap
from bertxfer.report.places import sizes
from bertxfer.report.units import POINTS
from bertxfer.sweeps.deciding import NOT_NEEDED

_NOT_YET = "not run yet"
_CHANGING = re.compile(r"0x[0-9a-f]+|\d+")  # what differs between errors of one kind


def table(results: pd.DataFrame) -> pd.DataFrame:
    """A row for each trial, in the order of the sweep."""
    trials = results.drop_duplicates("id").assign(size=sizes)
    reasons = _reasons(trials)
    columns = {
        "id": trials["id"],
        "state": [_state(row) for row in trials.to_dict("records")],
        "task": trials["task.name"].map(words.task),
        "size": trials["size"],
        "treatment": trials["treatment"],
        "seed": trials["seed"],
        "score": [None if is_gap(score) else round(POINTS * score, 2) for score in trials["score"]],
        "metric": trials["headline"].map(words.metric),
        "seconds": [None if is_gap(value) else round(value, 1) for value in trials["seconds"]],
        "reason": reasons,
    }
    if trials["model"].nunique() > 1:
        columns = {"id": columns.pop("id"), "model": trials["model"], **columns}
    return pd.DataFrame(columns).reset_index(drop=True)


_LABELS = {"size": "data", "score": "score ×100"}
_NUMERIC = {"seed": 0, "score": 2, "seconds": 1}  # with how many digits


def for_page(trials: pd.DataFrame) -> dict[str, Any]:
    """The table for the page's script."""
    columns = [
        {"key": name, "label": _LABELS.get(name, name)}
        | ({"numeric": True, "digits": _NUMERIC[name]} if name in _NUMERIC else {})
        for name in trials.columns
    ]
    rows = [[None if is_gap(cell) else cell for cell in row] for row in trials.astype(object).itertuples(index=False)]
    return {"columns": columns, "rows": rows}


@dataclass(frozen=True)
class Trouble:
    """Trials that have no score for one reason."""

    state: str
    reason: str
    count: int
    where: str


def troubles(trials: pd.DataFrame) -> list[Trouble]:
    """What failed, what ended without a score and what is missing, the most frequent first."""
    without = trials[trials["state"].isin(["failed", "undefined", "missing"])]
    found = []
    for (state, reason), group in without.groupby(["state", "reason"], sort=False):
        places = group.groupby(["task", "size"], sort=False).size()
        told = [f"{task}, {size}: {count}" for (task, size), count in places.items()]
        found.append(Trouble(str(state), str(reason), len(group), "; ".join(told)))
    order = ("failed", "undefined", "missing")
    return sorted(found, key=lambda one: (order.index(one.state), -one.count))


def _state(row: dict[Any, Any]) -> str:
    return "undefined" if row["undefined"] else str(row["state"])


def _reasons(trials: pd.DataFrame) -> list[str]:
    """Errors that differ in numbers alone have one reason: the first of them."""
    first: dict[str, str] = {}
    return [_reason(row, first) for row in trials.to_dict("records")]


def _reason(row: dict[Any, Any], first: dict[str, str]) -> str:
    if row["state"] == "missing":
        return _NOT_YET
    if row["state"] == NOT_NEEDED:
        return "what it would help to decide is decided"
    if is_gap(row["reason"]):
        return ""
    reason = str(row["reason"])
    return first.setdefault(_CHANGING.sub("#", reason), reason)


def ran(results: pd.DataFrame) -> str:
    """In one line what ran: how many tasks, treatments, seeds and sizes there are results of."""
    done = results[results["state"] == "done"].drop_duplicates("id").assign(size=sizes)
    if done.empty:
        return "no trial is done yet"
    counts = (("task.name", "task"), ("treatment", "treatment"), ("seed", "seed"))
    told = [_counted(done[column].nunique(), results[column].nunique(), noun) for column, noun in counts]
    told.append(f"trained on {_few(done['size'].unique().tolist())}")
    return ", ".join(told)


def _counted(n: int, of: int, noun: str) -> str:
    plural = noun if of == 1 else f"{noun}s"
    return f"{n} {plural}" if n == of else f"{n} of {of} {plural}"


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]
