"""What keeps the trials of one mark or cell apart: only replicates are averaged, and trials/replicates.py says which.

`frame` gives every row its group. Here groups that meet in one cell get columns for what they differ in.
"""

import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

# Settings that a column's words already show; they are named only where the words are the same.
SHOWN_BY = (("treatment", r"treatment|chain|stage |probe"), ("model", r"model"), ("task", r"task"))


def split(
    table: pd.DataFrame, keys: Sequence[str], shown_by: Sequence[tuple[str, str]] = SHOWN_BY
) -> tuple[pd.DataFrame, list[str]]:
    """The table with a column for each setting by which trials with the same `keys` differ, and their names."""
    unlike = table.groupby(list(keys), dropna=False, sort=False)["group"].transform("nunique") > 1
    names: dict[str, None] = {}
    for _, cell in table[unlike].groupby(list(keys), dropna=False, sort=False):
        names |= dict.fromkeys(_differing(cell.drop_duplicates("group"), shown_by))
    table = table.assign(**{name: _column(table, name) for name in names})
    return table, list(names)


def _differing(groups: pd.DataFrame, shown_by: Sequence[tuple[str, str]]) -> list[str]:
    """The names of what is not the same in all of these groups, which have one row each."""
    settings = [dict(items) for items in groups["settings"]]
    names = [column for column, _ in shown_by if groups[column].nunique() > 1]
    for name in dict.fromkeys(name for one in settings for name in one):
        column = next((column for column, pattern in shown_by if re.match(pattern, name)), None)
        words = groups[column].tolist() if column else [""] * len(groups)
        values: dict[Any, set[str]] = {}
        for word, one in zip(words, settings, strict=True):
            values.setdefault(word, set()).add(one[name])
        if any(len(different) > 1 for different in values.values()):
            names.append(name)
    return names


def _column(table: pd.DataFrame, name: str) -> "pd.Series[Any]":
    """A setting's values. The frame's own column has gaps where an id leaves a default out, no stages, long digests."""
    if name in table and table[name].notna().all() and not name.endswith("version"):
        return table[name]
    return table["settings"].map(lambda settings: dict(settings)[name])


def named(name: str, value: Any) -> str:
    """A setting as a label says it, and as it is typed."""
    word = str(value).lower() if str(value) in ("True", "False") else str(value)
    return word if name in ("treatment", "task") else f"{name}={word}"
