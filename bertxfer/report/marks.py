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
from bertxfer.report.units import AS_IT_IS, SCORE, value_text
from bertxfer.sweeps.deciding import NOT_NEEDED

FEWEST_FOR_BARS = 3  # an interval of two trials says nothing that the two do not; they are shown instead
_ABOUT = ("task", "size", "metric")  # what a filter and an axis must know of a mark
LISTED = 10  # trials that a tooltip lists before it says how many more there are


@dataclass(frozen=True)
class Marks:
    """One row per mark: role (mean, trial, level, dashed, density, missing, published), facet, series, x, y, low, high,
    n, trials, and the metric that y is."""

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
    parts = [means(places, figure.interval, "mean", figure.center, SCORE), _without_result(places)]
    parts.append(_trials(places, SCORE) if trials else _instead_of_bars(places, figure))
    if densities:
        parts.append(_densities(places))
    for name, where in figure.levels.items():
        alone = dataclasses.replace(figure, x=None, series=(), where={})
        level, _ = places_of(alone, select(results, where), named=name)
        if level.empty:
            notes.append(f"No trial of the level “{name}” is in this sweep.")
        parts.append(means(level, level_interval, "level", figure.center, SCORE).assign(x=None))
    if figure.dashed and dashed is None:
        notes.append(not_dashed(figure))
    if dashed is not None:
        over_x = dataclasses.replace(figure, series=(), where={}, x=figure.dashed["x"])
        line, more = places_of(over_x, dashed, named="probing")
        notes += [f"Probing: {note}" for note in more]
        parts.append(means(line, figure.interval, "dashed", figure.center, SCORE))
    data = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    if set(data["role"]) == {"missing"}:
        data = data.iloc[:0]
    return Marks(data, [*notes, *_lone(data, figure)])


def not_dashed(figure: Figure) -> str:
    """The note where the experiment that would be drawn dashed has no results."""
    return f"The dashed line is not drawn: no trial of {figure.dashed['experiment']} is done."


def means(places: pd.DataFrame, interval: str, role: str, center: str = "mean", unit: str = AS_IT_IS) -> pd.DataFrame:
    """A mark for each facet, series and x, with the trials behind it, told in the unit; a mean, or what the figure has
    instead."""
    done = places[places["state"] == "done"]
    if done.empty:
        return pd.DataFrame(columns=["role", *KEYS, "y", "low", "high", "n", "trials", *_ABOUT])
    table = summarize(done, KEYS, "y", interval)
    table = drawn(table[table["n"] > 0], center)
    if center == "mean":
        table.loc[table["n"] < FEWEST_FOR_BARS, ["low", "high"]] = np.nan
    behind = done.groupby(KEYS, dropna=False, sort=False)
    about = behind.apply(_listed, unit, include_groups=False).rename("trials").reset_index()
    for column in (column for column in _ABOUT if column in done):
        about[column] = behind[column].agg(lambda values: values.iloc[0] if values.nunique() == 1 else None).to_numpy()
    table = as_first_seen(table.merge(about, on=KEYS), done)
    return table.assign(role=role)[
        ["role", *KEYS, "y", "low", "high", "n", "sd", "trials", *about.columns[len(KEYS) + 1 :]]
    ]


def followed(places: pd.DataFrame, each: pd.DataFrame, interval: str, notes: list[str], unit: str = AS_IT_IS) -> Marks:
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
    twos = _twos(joined) if interval != "none" else joined.iloc[:0]
    found = means(joined, interval, "mean", unit=unit)
    parts = [part for part in (found, _trials(twos, unit)) if len(part)]
    return Marks(pd.concat(parts, ignore_index=True) if parts else found, notes)


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


def _instead_of_bars(places: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The trials of places that have two of them, where others have bars."""
    with_bars = figure.interval != "none" and figure.center == "mean"
    return _trials(_twos(places) if with_bars else places.iloc[:0], SCORE)


def _twos(places: pd.DataFrame) -> pd.DataFrame:
    done = places[(places["state"] == "done") & places["y"].notna()]
    return done[done.groupby(KEYS, dropna=False)["y"].transform("count") == 2]


def _without_result(places: pd.DataFrame) -> pd.DataFrame:
    """A mark for each place that no trial has a score of, within panels that have some."""
    has_score = (places["state"] == "done") & places["y"].notna()
    shown = places[places["facet"].isin(places.loc[has_score, "facet"]) & (places["state"] != NOT_NEEDED)]
    rows = []
    for key, group in shown.groupby(KEYS, dropna=False, sort=False):
        if not has_score[group.index].any():
            states = group.drop_duplicates("id")["state"].map({"done": "undefined", "missing": "not run yet"})
            counts = states.fillna("failed").value_counts()
            words = ", ".join(f"{count} {state}" for state, count in counts.items())
            about = {name: group[name].iloc[0] for name in _ABOUT if name in group}
            rows.append({"role": "missing", **dict(zip(KEYS, key, strict=True)), "n": 0, "trials": words, **about})
    return pd.DataFrame(rows)


def _trials(places: pd.DataFrame, unit: str) -> pd.DataFrame:
    """Every trial as a mark of its own."""
    done = places[(places["state"] == "done") & places["y"].notna()]
    lines = [
        f"seed {seed}: {value_text(y, unit)}  {trial}"
        for seed, y, trial in zip(done["seed"], done["y"], done["id"], strict=True)
    ]
    return done.assign(role="trial", n=1, trials=lines)[
        ["role", *KEYS, "y", "n", "trials", *(c for c in _ABOUT if c in done)]
    ]


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
        about = {"role": "density", "facet": facet, "series": series}
        about |= {name: group[name].iloc[0] for name in _ABOUT if name in group}
        parts.append(pd.DataFrame({**about, "x": height, "y": grid}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _listed(group: pd.DataFrame, unit: str) -> str:
    """The trials of a mark, one per line, for the tooltip."""
    first = group.head(LISTED)
    lines = [
        f"seed {seed}: {value_text(y, unit)}  {trial}"
        for seed, y, trial in zip(first["seed"], first["y"], first["id"], strict=True)
    ]
    return "\n".join([*lines, f"and {len(group) - LISTED} more"] if len(group) > LISTED else lines)


def _lone(data: pd.DataFrame, figure: Figure) -> list[str]:
    """Where there is nothing to take an interval, a median or a best from."""
    points = data[data["role"].isin(["mean", "dashed"])]
    two = int((points["n"] == 2).sum())
    if (figure.interval == "none" and figure.center == "mean") or points.empty:
        return []
    alone = int((points["n"] < 2).sum())
    without = " and have no interval" if figure.center == "mean" else ""
    notes = [f"{alone} of {len(points)} points rest on one trial{without}."] if alone else []
    if two and figure.center == "mean":
        notes.append(f"{two} of {len(points)} points rest on two trials, which are shown in place of an interval.")
    return notes
