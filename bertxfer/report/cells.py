"""Numbers as the cells of a table print them. A gap is a dash; scores are times 100."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from bertxfer.report.frame import is_gap
from bertxfer.report.intervals import INTERVALS


def mean_cell(row: Mapping[str, Any], times: int = 100, digits: int = 1) -> str:
    """Of a row of a summary: its mean, with half of its interval where it has one."""
    if is_gap(row["mean"]):
        return f"-{undefined(row)}"
    half = (row["high"] - row["low"]) / 2
    around = "" if is_gap(half) else f" ± {times * half:.{digits}f}"
    return f"{times * row['mean']:.{digits}f}{around}{undefined(row)}"


def median_cell(row: Mapping[str, Any]) -> str:
    """Of the same: its median, and the range of its trials."""
    if is_gap(row["median"]):
        return f"-{undefined(row)}"
    return f"{100 * row['median']:.1f} ({100 * row['min']:.1f} to {100 * row['max']:.1f}){undefined(row)}"


def best_cell(row: Mapping[str, Any]) -> str:
    """Of the same: its highest score, and of how many it is the highest."""
    if is_gap(row["max"]):
        return f"-{undefined(row)}"
    return f"{100 * row['max']:.1f} (best of {row['n']}){undefined(row)}"


def undefined(row: Mapping[str, Any]) -> str:
    return f" ({row['undefined']} undefined)" if row["undefined"] else ""


def interval_words(interval: str, data: pd.DataFrame) -> str:
    """What ± means in a summary, and how many trials it is over."""
    if not len(data):
        return "no trial is done"
    alone = "one trial each" if interval == "none" else "one trial each: no interval can be given"
    return f"{INTERVALS[interval].under_tables}, {span_of(data['n'])} trials each" if data["n"].max() > 1 else alone


def span_of(counts: "pd.Series[int]") -> str:
    """Counts as one number where they are equal, else as the least and the most."""
    return f"{counts.min()} to {counts.max()}" if counts.nunique() > 1 else f"{counts.max()}"


def text(value: Any) -> str:
    return "-" if is_gap(value) else f"{value:g}" if isinstance(value, float) else str(value)


def fixed(value: float, digits: int) -> str:
    return "-" if is_gap(value) else f"{value:.{digits}f}"


def signed(value: float, digits: int = 1) -> str:
    return "-" if is_gap(value) else f"{value:+.{digits}f}"


def span(low: float, high: float, digits: int = 1) -> str:
    return "-" if is_gap(low) else f"{low:.{digits}f} to {high:.{digits}f}"


def p_value(value: float) -> str:
    """Never 0.000: no test is that certain."""
    return "-" if is_gap(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"
