"""What stands for the trials of a place: their mean with its interval, their median with their range, or the best."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from bertxfer.report import cells
from bertxfer.report.intervals import INTERVALS


@dataclass(frozen=True)
class Center:
    column: str  # of a summary
    ends: tuple[str, str] | None  # the columns of its bars, where it has any
    cell: Callable[[Mapping[str, Any]], str]  # in a table, of a row of a summary
    title: str  # of a table
    caption: str  # how many runs there were goes into the braces
    bars: str  # what a chart says of them; of a mean's the interval says it
    under_tables: str  # with the same braces


# Of ten runs the range shows all that was seen; quartiles of so few are interpolated between two of them.
CENTERS = {
    "mean": Center("mean", ("low", "high"), cells.mean_cell, "Means", "Means over {} each.", "", ""),
    "median": Center(
        "median",
        ("min", "max"),
        cells.median_cell,
        "Medians",
        "Medians over seeds, of {} each.",
        "Bars are the range of the runs, lowest to highest, which widens with their number.",
        "medians of {} each, in parentheses their range, lowest to highest",
    ),
    "best": Center(
        "max", None, cells.best_cell, "The best", "Each number is the best of {}.", "", "the best of {} each"
    ),
}
MAXIMUM = "A maximum over runs is not an average: it grows with their number and is no estimate of the task's score"


def drawn(summary: pd.DataFrame, center: str) -> pd.DataFrame:
    """A summary with what is drawn of it: y, low and high. An interval of the mean is around no other center."""
    chosen = CENTERS[center]
    low, high = (summary[end] for end in chosen.ends) if chosen.ends else (float("nan"), float("nan"))
    return summary.assign(y=summary[chosen.column], low=low, high=high)


def caption(center: str, n: "pd.Series[int]") -> str:
    """What the numbers of a chart are, from how many runs each rests on."""
    if center == "mean" and n.max() == 1:
        return "Each mark is a single trial."
    runs = f"{cells.span_of(n)} {'run' if n.max() == 1 else 'runs'}"
    return " ".join([CENTERS[center].caption.format(runs), *([f"{MAXIMUM}."] if center == "best" else [])])


def bars(center: str, interval: str) -> str:
    """What the bars of a chart are."""
    return INTERVALS[interval].under_charts if center == "mean" else CENTERS[center].bars


def under_table(center: str, interval: str, data: pd.DataFrame) -> str:
    """What the cells of a table are, and how many trials each is of."""
    if center == "mean" or not len(data):
        return cells.interval_words(interval, data)
    trials = f"{cells.span_of(data['n'])} {'trial' if data['n'].max() == 1 else 'trials'}"
    said = CENTERS[center].under_tables.format(trials)
    return f"{said}. {MAXIMUM}" if center == "best" else said
