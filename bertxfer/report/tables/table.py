"""A table: its numbers, and the cells of text that are printed from them."""

from collections.abc import Callable
from dataclasses import dataclass, field

import pandas as pd

from bertxfer.report.figure import Figure
from bertxfer.store.store import Store

WORDS = "in words"


@dataclass(frozen=True)
class Table:
    """`cells` is what is printed, `data` the numbers behind it. Marks are by row and column of the cells."""

    name: str
    title: str
    cells: pd.DataFrame
    data: pd.DataFrame
    note: str = ""
    bold: frozenset[tuple[int, str]] = field(default_factory=frozenset)
    shaded: frozenset[tuple[int, str]] = field(default_factory=frozenset)


Maker = Callable[[pd.DataFrame, Figure, Store], Table]
MakerBeside = Callable[[pd.DataFrame, Figure, Store, pd.DataFrame | None], Table]


def sentences(*notes: str) -> str:
    """The notes that are not empty, one after another."""
    return ". ".join(note[:1].upper() + note[1:] for note in notes if note)
