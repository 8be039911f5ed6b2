"""What a table of a figure is made of: the columns of its rows, and what each place is compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import frame as frames
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.splits import split
from bertxfer.report.statistics import THE_BASELINE, Baseline


def rows_by(results: pd.DataFrame, figure: Figure) -> list[str]:
    """The columns by which the rows of a table differ: facets and series, and the metric."""
    wanted = [figure.facets, *figure.series]
    return [*dict.fromkeys(column for column in wanted if column is not None and column in results), "measure"]


def x_of(results: pd.DataFrame, figure: Figure) -> str | None:
    """The column that the figure's x axis shows, unless the rows already differ by it."""
    return figure.x if figure.x in results and figure.x not in rows_by(results, figure) else None


def needed_x(results: pd.DataFrame, figure: Figure, user: str) -> str:
    """The same, for a table that cannot do without."""
    x = x_of(results, figure)
    if x is None:
        raise ConfigError("figure.x", f"{user} correlates over it; name a column that tells no rows apart")
    return x


def places(table: pd.DataFrame, figure: Figure) -> tuple[pd.DataFrame, list[str]]:
    """The table and the columns of one place in it: those of its row, what else differs there beside seeds, and x."""
    rows, x = rows_by(table, figure), x_of(table, figure)
    columns = [*rows, *([x] if x is not None else [])]
    table, more = split(table, columns)
    return table, [*rows, *more, *columns[len(rows) :]]


def baselines(table: pd.DataFrame, by: Sequence[str], figure: Figure) -> list[Baseline]:
    """What the places of a table are compared with; full BERT where a figure does not say."""
    return [Baseline(name, where, shared(by, table, where)) for name, where in _baselines(figure).items()]


def only_baseline(figure: Figure, user: str) -> Mapping[str, Any]:
    """What is true of the results that all others are compared with, for what has room for one difference."""
    found = _baselines(figure)
    if len(found) > 1:
        raise ConfigError("figure.baseline", f"{user} shows differences from one baseline, not from {len(found)}")
    return next(iter(found.values()))


def _baselines(figure: Figure) -> Mapping[str, Mapping[str, Any]]:
    return figure.baseline or {THE_BASELINE: {"treatment_text": "as pretrained"}}


def with_baselines(results: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The rows that a figure is about and those that they are compared with."""
    table = frames.measured(results, figure.y)
    parts = [select(table, where).index for where in (figure.where, *_baselines(figure).values())]
    return table[table.index.isin([row for part in parts for row in part])]


def named_in(figure: Figure) -> bool:
    """Whether a figure gives its baselines names."""
    return bool(figure.baseline) and list(figure.baseline) != [THE_BASELINE]


def shared(columns: Sequence[str], table: pd.DataFrame, where: Mapping[str, Any]) -> list[str]:
    """The columns that a place shares with what it is compared with: the task, and those of which the baseline has
    every value.

    So k is shared where the baseline is the same k under another learning rate, and not where it is full BERT.
    All rows count here, done or not, so that a sweep halfway through is compared as the whole will be.
    """
    base = select(table, where)
    kept = [column for column in columns if column in ("task", "measure") or _covers(base[column], table[column])]
    return [column for column in kept if column not in where]


def _covers(some: "pd.Series[Any]", every: "pd.Series[Any]") -> bool:
    return bool(some.notna().all()) and set(some) >= set(every.dropna())
