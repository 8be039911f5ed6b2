"""What a figure shows, mark by mark, as plain data: means with intervals, single trials, levels, densities."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from bertxfer.report.centers import drawn
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.places import KEYS, places_of
from bertxfer.report.statistics import summarize

LISTED = 10  # trials that a tooltip lists before it says how many more there are


@dataclass(frozen=True)
class Marks:
    """One row per mark: role (mean, trial, level, dashed, density), facet, series, x, y, low, high, n, trials."""

    data: pd.DataFrame
    notes: list[str]  # what a reader must know: what is missing, what was split

    def of(self, role: str) -> pd.DataFrame:
        return self.data[self.data["role"] == role]


def scores(
    figure: Figure,
    results: pd.DataFrame,
    dashed: pd.DataFrame | None = None,
    trials: bool = False,
    densities: bool = False,
    level_interval: str = "none",
) -> Marks:
    """Means of scores, and each trial or their density too where a kind shows them; `dashed` has the results of the
    experiment that is drawn dashed.
    """
    places, notes = places_of(figure, results)
    parts = [means(places, figure.interval, "mean", figure.center)]
    if trials:
        parts.append(_trials(places))
    if densities:
        parts.append(_densities(places))
    for name, where in figure.levels.items():
        alone = dataclasses.replace(figure, x=None, series=(), where={})
        level, _ = places_of(alone, select(results, where), named=name)
        if level.empty:
            notes.append(f"No trial of the level “{name}” is in this sweep.")
        parts.append(means(level, level_interval, "level", figure.center).assign(x=None))
    if figure.dashed and dashed is None:
        notes.append(not_dashed(figure))
    if dashed is not None:
        over_x = dataclasses.replace(figure, series=(), where={}, x=figure.dashed["x"])
        line, more = places_of(over_x, dashed, named="probing")
        notes += [f"Probing: {note}" for note in more]
        parts.append(means(line, figure.interval, "dashed", figure.center))
    data = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return Marks(data, [*notes, *_lone(data, figure)])


def not_dashed(figure: Figure) -> str:
    """The note where the experiment that would be drawn dashed has no results."""
    return f"The dashed line is not drawn: no trial of {figure.dashed['experiment']} is done."


def means(places: pd.DataFrame, interval: str, role: str, center: str = "mean") -> pd.DataFrame:
    """A mark for each facet, series and x, with the trials behind it; a mean, or what the figure has instead."""
    done = places[places["state"] == "done"]
    if done.empty:
        return pd.DataFrame(columns=["role", *KEYS, "y", "low", "high", "n", "trials", "task", "size"])
    table = summarize(done, KEYS, "y", interval)
    table = drawn(table[table["n"] > 0], center)
    behind = done.groupby(KEYS, dropna=False, sort=False)
    about = behind.apply(_listed, include_groups=False).rename("trials").reset_index()
    for column in ("task", "size"):
        about[column] = behind[column].agg(lambda values: values.iloc[0] if values.nunique() == 1 else None).to_numpy()
    table = as_first_seen(table.merge(about, on=KEYS), done)
    return table.assign(role=role)[["role", *KEYS, "y", "low", "high", "n", "sd", "trials", "task", "size"]]


def followed(places: pd.DataFrame, each: pd.DataFrame, interval: str, notes: list[str]) -> Marks:
    """Means over seeds of a value that each trial has at each x; `each` has the rows id, x, y, a headline where a value
    belongs to one metric, and a series where a trial has several lines: its words come behind those of the place."""
    done = places[places["state"] == "done"]
    undefined = int(each["y"].isna().sum())
    if undefined:
        notes = [*notes, f"{undefined} of {len(each)} values are not defined; no mean includes them."]
    keys = [key for key in ("id", "headline") if key in each]
    joined = done.drop(columns=["x", "y"]).merge(each.rename(columns={"series": "own"}), on=keys)
    if "own" in joined:
        both = zip(joined["series"], joined["own"], strict=True)
        joined["series"] = [", ".join(filter(None, words)) for words in both]
    return Marks(means(joined, interval, "mean"), notes)


def as_first_seen(table: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """In the order of the sweep; numbers in their own order."""
    for key in reversed(KEYS):
        seen = list(dict.fromkeys(places[key].tolist()))
        if key == "x" and all(isinstance(item, (int, float)) for item in seen):
            seen.sort()
        rank = {item: position for position, item in enumerate(seen)}
        table = table.sort_values(key, key=lambda column, rank=rank: column.map(rank), kind="stable")
    return table


def order_of(values: Sequence[Any]) -> list[Any]:
    """Distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))


def _trials(places: pd.DataFrame) -> pd.DataFrame:
    """Every trial as a mark of its own."""
    done = places[(places["state"] == "done") & places["y"].notna()]
    lines = [
        f"seed {seed}: {y:.4f}  {trial}" for seed, y, trial in zip(done["seed"], done["y"], done["id"], strict=True)
    ]
    return done.assign(role="trial", n=1, trials=lines)[["role", *KEYS, "y", "n", "trials", "task", "size"]]


def _densities(places: pd.DataFrame) -> pd.DataFrame:
    """The kernel density over the scores of each facet and series, its highest point at 1. It needs three scores."""
    parts = []
    for (facet, series), group in places.groupby(["facet", "series"], sort=False):
        values = group["y"].dropna().to_numpy()
        if len(values) < 3 or np.ptp(values) == 0:
            continue
        density = gaussian_kde(values)
        margin = 2 * values.std(ddof=1)
        grid = np.linspace(values.min() - margin, values.max() + margin, 60)
        height = density(grid) / density(grid).max()
        about = {"role": "density", "facet": facet, "series": series, "task": group["task"].iloc[0]}
        parts.append(pd.DataFrame({**about, "size": group["size"].iloc[0], "x": height, "y": grid}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _listed(group: pd.DataFrame) -> str:
    """The trials of a mark, one per line, for the tooltip."""
    first = group.head(LISTED)
    lines = [
        f"seed {seed}: {'undefined' if y != y else format(y, '.4f')}  {trial}"
        for seed, y, trial in zip(first["seed"], first["y"], first["id"], strict=True)
    ]
    return "\n".join([*lines, f"and {len(group) - LISTED} more"] if len(group) > LISTED else lines)


def _lone(data: pd.DataFrame, figure: Figure) -> list[str]:
    """Where there is nothing to take an interval, a median or a best from."""
    points = data[data["role"].isin(["mean", "dashed"])]
    if (figure.interval == "none" and figure.center == "mean") or points.empty:
        return []
    alone = int((points["n"] < 2).sum())
    without = " and have no interval" if figure.center == "mean" else ""
    return [f"{alone} of {len(points)} points rest on one trial{without}."] if alone else []
