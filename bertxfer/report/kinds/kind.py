"""A kind of figure: all that is particular to it, in one place."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bertxfer.report import cells, centers
from bertxfer.report.charts import Chart
from bertxfer.report.figure import Figure
from bertxfer.report.marks import Marks
from bertxfer.report.published import Published
from bertxfer.report.units import AS_IT_IS
from bertxfer.store.store import Store

# From a figure, the frame of results, the store, and the results of the experiment that is drawn dashed.
MakeMarks = Callable[[Figure, pd.DataFrame, Store, pd.DataFrame | None], Marks]
MakeChart = Callable[[Figure, Marks], Chart]
Caption = Callable[[Figure, Marks], str]
START = " Start: what fine-tuning began with."


@dataclass(frozen=True)
class Choice:
    """What a key of a block's `measure` may be: one of these words, or several of them."""

    options: tuple[str, ...]
    usual: tuple[str, ...]  # where it is not given
    several: bool = True


def suits_no_sweep(results: pd.DataFrame) -> Mapping[str, Any] | None:
    return None


def over_seeds(figure: Figure, marks: Marks) -> str:
    """Of the marks that stand for several trials; a trial that is drawn by itself is none of them."""
    n = marks.data.loc[~marks.data["role"].isin(["trial", "missing", "published"]), "n"]
    return centers.caption(figure.center, n.dropna().astype(int))


def counted(n: "pd.Series[int]", noun: str) -> str:
    """How many trials marks are of: 7 orders, 2 to 3 runs."""
    n = n.dropna().astype(int)
    return f"{cells.span_of(n)} {noun}{'' if n.max() == 1 else 's'}"


@dataclass(frozen=True)
class Kind:
    name: str
    marks: MakeMarks | None  # none: it has tables and no chart
    chart: MakeChart | None
    caption: str | Caption = over_seeds  # what the marks are
    unit: str | Callable[[Figure], str] = AS_IT_IS  # of the numbers: SCORE, AMOUNT or AS_IT_IS (units.py)
    published: Callable[[Figure, Marks, Published], Marks] | None = None  # puts the paper's numbers among the marks
    has_bars: bool = True  # whether the caption says what the bars of the interval are
    interval: str = "t95"  # where a block names none
    any_center: bool = False  # whether a block may ask for medians or the best instead of means
    needs: Mapping[str, str] = field(default_factory=dict)  # keys that a block must have, and why
    # The keys of its `measure`; a word by itself, or a list of them, is of the first. Without any, the kind sees to it.
    measures: Mapping[str, Choice] = field(default_factory=dict)
    widest: int | None = None  # of a panel on the page, in pixels; None: as wide as there is room
    x: str | None = None  # the column of its axis, where that is not the block's to choose
    labels: str | None = None  # the column of the marks whose words stand left of the first panel
    # For a sweep without a block that is best drawn as this kind: the other keys of its block.
    suits: Callable[[pd.DataFrame], Mapping[str, Any] | None] = suits_no_sweep

    def unit_of(self, figure: Figure) -> str:
        return self.unit if isinstance(self.unit, str) else self.unit(figure)


def varies(results: pd.DataFrame, column: str) -> bool:
    """Whether a sweep asked for several values of a column."""
    return column in results and results[column].nunique() > 1


def only_scheme(results: pd.DataFrame, scheme: str) -> bool:
    """Whether a sweep was of this scheme alone."""
    return "scheme" in results and set(results["scheme"].dropna()) == {scheme}
