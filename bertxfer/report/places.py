"""The places of a figure: what tells them apart, and what each is compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bertxfer.report import frame as frames
from bertxfer.report.frame import select

Figure = Mapping[str, Any]


def rows_by(results: pd.DataFrame, figure: Figure) -> list[str]:
    """The columns that tell the rows of a table apart: facets and series, and the metric."""
    series = figure.get("series") or []
    wanted = [figure.get("facets", "task"), *([series] if isinstance(series, str) else series)]
    return [*dict.fromkeys(column for column in wanted if column in results), "measure"]


def x_of(results: pd.DataFrame, figure: Figure) -> str | None:
    """The column that the figure's x axis shows, unless rows are told apart by it already."""
    x = "treatment" if figure.get("kind") == "treatments" else figure.get("x")
    return str(x) if x in results and x not in rows_by(results, figure) else None


def by(results: pd.DataFrame, figure: Figure) -> list[str]:
    """The columns of one place of a figure: those of its row, x, and what else differs there beside seeds."""
    x = x_of(results, figure)
    return [*apart(results, rows_by(results, figure), x), *([x] if x is not None else [])]


def apart(results: pd.DataFrame, by: Sequence[str], x: str | None) -> list[str]:
    """`by`, and every setting that differs within one of its groups: only seeds are averaged over."""
    found, ended = list(by), results[results["state"] == "done"]
    groups = ended.groupby([*by, *([x] if x is not None else [])], dropna=False, sort=False)
    for column in results.columns:
        setting = column == "treatment" or column.split(".")[0] in _SETTINGS
        if setting and column not in (*by, x) and len(ended) and (groups[column].nunique(dropna=False) > 1).any():
            found.append(column)
    return found


_SETTINGS = ("model", "task", "data", "optimizer", "training", "probe", "chain")


def baseline(figure: Figure) -> Mapping[str, Any]:
    """What is true of the results that all others are compared with."""
    return figure.get("baseline") or {"treatment_text": "as pretrained"}


def with_baseline(results: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The places a figure is about and those that they are compared with."""
    table = frames.measured(results, {**figure, "where": None})
    parts = [select(table, figure.get("where") or {}), select(table, baseline(figure))]
    return table[table.index.isin([*parts[0].index, *parts[1].index])]


def within(results: pd.DataFrame, figure: Figure) -> list[str]:
    """What a place and its baseline must share: the task, and whatever the baseline was asked for at every value of.

    So k is shared where the baseline is the same k under another learning rate, and not where it is full BERT.
    All places count here, done or not, so that a sweep halfway through is compared as the whole will be.
    """
    base, x = select(results, baseline(figure)), x_of(results, figure)
    wanted = [*rows_by(results, figure), *([x] if x is not None else [])]
    kept = [column for column in wanted if column in ("task", "measure") or _covers(base[column], results[column])]
    return [column for column in kept if column not in baseline(figure)]


def _covers(some: "pd.Series[Any]", every: "pd.Series[Any]") -> bool:
    return bool(some.notna().all()) and set(some) >= set(every.dropna())
