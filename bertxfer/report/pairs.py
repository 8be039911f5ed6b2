"""Pairs: two trials that agree in every stream of randomness that both draw from, and that saw the same rows.

In a table, a stream that a trial does not draw from is a gap in its column.
"""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bertxfer.errors import BertxferError

Array = NDArray[Any]


def pairs(some: pd.DataFrame, others: pd.DataFrame) -> list[tuple[int, int]]:
    """The pairs between two tables, as positions of their rows.

    So one trial may have several partners, as a baseline that reinitializes nothing has for every `seeds.redraw`. A
    trial whose partners are not replicates of each other has none: it is not known which to compare it with.
    """
    for table in (some, others):
        _refuse_twins(table)
    agree = np.ones((len(some), len(others)), dtype=bool)
    for column in _drawn_from(some):
        if column in others:
            agree &= _agree(some[column], others[column])
    kinds = others["group"].to_numpy() if "group" in others else np.zeros(len(others))
    partners = [np.flatnonzero(row) for row in agree]
    return [(i, int(j)) for i, matches in enumerate(partners) if len(set(kinds[matches])) == 1 for j in matches]


def _drawn_from(table: pd.DataFrame) -> list[str]:
    return [column for column in table if column.startswith("seeds.") or column == "data_digest"]


def _agree(some: "pd.Series[Any]", others: "pd.Series[Any]") -> Array:
    codes, _ = pd.factorize(pd.concat([some, others], ignore_index=True))  # a gap is -1
    one, other = codes[: len(some), None], codes[None, len(some) :]
    return np.asarray((one == other) | (one < 0) | (other < 0))


def _refuse_twins(table: pd.DataFrame) -> None:
    """Replicates differ in a seed; rows that do not were never replicates."""
    streams = [*_drawn_from(table), *(["group"] if "group" in table else [])]
    twins = table[table.duplicated(streams, keep=False)] if streams else table.iloc[1:]
    if len(twins):
        raise BertxferError(
            f"trials {', '.join(map(str, twins['id'].head(2)))}: they have the same seeds, so something "
            "other than the seed differs between them"
        )
