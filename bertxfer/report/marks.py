"""What a figure of scores shows, mark by mark, as plain data: means with intervals, single trials, levels, densities.

Only seeds (and the permutations that they draw) are averaged over. Whatever else differs between the trials of one
mark is split off into a series of its own, because a mean over unlike trials is a number that only looks right.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import gaussian_kde

from bertxfer.errors import ConfigError
from bertxfer.report import frame, words
from bertxfer.report.figures import Figure
from bertxfer.report.statistics import summarize
from bertxfer.trials.science import Science

KEYS = ["facet", "series", "x"]
LISTED = 10  # trials that a tooltip lists before it says how many more there are
# A mark averages over seeds, so these may differ within it; all the rest of the scientific config may not.
_FREE = ("seeds", "treatment.order")


@dataclass(frozen=True)
class Marks:
    """One row a mark: role (mean, trial, level, dashed, density), facet, series, x, y, low, high, n, trials."""

    data: pd.DataFrame
    notes: list[str]  # what a reader must know: what is missing, what was split

    def of(self, role: str) -> pd.DataFrame:
        return self.data[self.data["role"] == role]


def marks_of(figure: Figure, results: pd.DataFrame, dashed: pd.DataFrame | None = None) -> Marks:
    """The marks of a figure of scores; `dashed` has the results of the experiment that is drawn dashed."""
    places, notes = places_of(figure, results)
    parts = [means(places, figure.interval, "mean")]
    if figure.kind in ("scatter", "points", "treatments"):
        parts.append(_trials(places))
    if figure.kind == "points":
        parts.append(_densities(places))
    level_interval = "sd2" if figure.kind == "points" else "none"
    for name, where in figure.levels.items():
        level, _ = places_of(
            dataclasses.replace(figure, x=None, series=(), where={}), _only(results, where), named=name
        )
        if level.empty:
            notes.append(f"No trial of the level “{name}” is in this sweep.")
        parts.append(means(level, level_interval, "level").assign(x=None))
    if figure.dashed and dashed is None:
        notes.append(not_dashed(figure))
    if dashed is not None:
        own = dataclasses.replace(figure, series=(), where={}, x=figure.dashed["x"])
        line, more = places_of(own, dashed, named="probing")
        notes += [f"Probing: {note}" for note in more]
        parts.append(means(line, figure.interval, "dashed"))
    data = pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
    return Marks(data, [*notes, *_lone(data, figure)])


def not_dashed(figure: Figure) -> str:
    """Said where the experiment that would be drawn dashed has no results."""
    return f"The dashed line is not drawn: no trial of {figure.dashed['experiment']} is done."


def places_of(
    figure: Figure, results: pd.DataFrame, named: str | None = None, apart: str = "series"
) -> tuple[pd.DataFrame, list[str]]:
    """The places of a figure with their facet, series, x and y; a place of several metrics stands once for each.

    Unlike trials of one mark are told apart by their series, or by their facet where a figure has no series.
    """
    chosen = _only(results, figure.where)
    for column in (*figure.series, *([figure.facets] if figure.facets else [])):
        if column not in results:
            raise ConfigError("figure", f"{column!r} is not a column of the results; it was not an axis of this sweep")
    tables = []
    for y in figure.y:
        if y not in chosen:
            # No trial with this metric is done: its places are missing, which the notes say.
            chosen = chosen.assign(**{y: np.nan})
        table = chosen.assign(y=chosen[y].astype("float64"), series=_series(chosen, figure) if named is None else named)
        table["facet"] = _facet(table, figure, y)
        table["x"] = _x(table, figure)
        table["size"] = sizes(table)
        tables.append(table)
    places, without = _with_x(pd.concat(tables, ignore_index=True), figure)
    places, split = _split(places.drop_duplicates([*KEYS, "id"]), apart)
    return places, [*_said_missing(places), *without, *split]


def means(places: pd.DataFrame, interval: str, role: str) -> pd.DataFrame:
    """A mark for each facet, series and x, with the trials behind it."""
    done = places[places["state"] == "done"]
    if done.empty:
        return pd.DataFrame(columns=["role", *KEYS, "y", "low", "high", "n", "trials", "task", "size"])
    table = summarize(done, KEYS, "y", "t95" if interval == "none" else interval)
    table = table[table["n"] > 0].rename(columns={"mean": "y"})
    if interval == "none":
        table[["low", "high"]] = np.nan
    behind = done.groupby(KEYS, dropna=False, sort=False)
    said = behind.apply(_listed, include_groups=False).rename("trials").reset_index()
    for column in ("task", "size"):
        said[column] = behind[column].agg(lambda values: values.iloc[0] if values.nunique() == 1 else None).to_numpy()
    table = table.merge(said, on=KEYS)
    table = as_first_seen(table, done)
    return table.assign(role=role)[["role", *KEYS, "y", "low", "high", "n", "sd", "trials", "task", "size"]]


def _only(results: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    for column, value in where.items():
        if isinstance(value, (list, tuple)):
            results = results[results[column].isin(list(value))] if column in results else results.iloc[:0]
        else:
            results = frame.select(results, {column: value})
    return results


def _series(table: pd.DataFrame, figure: Figure) -> Any:
    """The words of the legend."""
    columns = [table[column].map(lambda said, c=column: _word(said, c, figure)) for column in figure.series]
    return (
        ""
        if not columns
        else columns[0]
        if len(columns) == 1
        else [", ".join(row) for row in zip(*columns, strict=True)]
    )


def _word(said: Any, column: str, figure: Figure) -> str:
    if pd.isna(said):
        return f"no {words.axis(column)}"
    told = figure.series_labels.get(said) or words.value(column, said)
    return told if len(figure.series) == 1 else words.named(column, told)


def _facet(table: pd.DataFrame, figure: Figure, y: str) -> pd.Series:
    """The words over a panel: the task and, of scores, what is measured on it."""
    facets = figure.facets
    if figure.kind in ("loss", "weights", "attention"):
        return table[facets].map(lambda said: words.value(facets, said)) if facets else pd.Series("", table.index)
    metric = table["task.headline"].map(words.metric) if y == "score" else words.metric(y)
    if facets is None:
        return pd.Series("", index=table.index) + metric
    return table[facets].map(lambda said: words.value(facets, said)) + " (" + metric + ")"


def _x(table: pd.DataFrame, figure: Figure) -> Any:
    if figure.kind == "treatments":
        permuted = table["treatment.order"].fillna("") != ""
        return table["treatment_text"].where(~permuted, "layers permuted")
    if figure.x is None or figure.kind == "points":
        return 0
    if figure.x not in table:
        raise ConfigError("figure.x", f"{figure.x!r} is not a column of the results; it was not an axis of this sweep")
    return table[figure.x]


def _with_x(places: pd.DataFrame, figure: Figure) -> tuple[pd.DataFrame, list[str]]:
    """Without the places that have no x; those that a level names belong there, of others it is said."""
    without = places[places["x"].isna()]
    for where in figure.levels.values():
        without = without.drop(_only(without, where).index)
    count = without["id"].nunique()
    note = [f"{count} trials have no value of {figure.x} and are not drawn."] if count else []
    return places[places["x"].notna()], note


def sizes(table: pd.DataFrame) -> pd.Series:
    """How much data a trial was given, as the filter of the page says it."""
    size = "n=" + table["data.n"].astype("str")
    fraction = table["data.fraction"].astype("float64")
    return size.where(fraction.isna(), (100 * fraction).map(lambda share: f"{share:g}%"))


def _split(places: pd.DataFrame, into: str) -> tuple[pd.DataFrame, list[str]]:
    """Series of their own for trials that differ in more than what a mark may average over."""
    parts = {item.name for item in dataclasses.fields(Science)}
    free = [c for c in places if c.split(".")[0] not in parts or c.split(".")[0] in _FREE or c in _FREE]
    varying = [c for c in places.columns.difference(free) if places[c].nunique(dropna=False) > 1]
    groups = places.groupby(KEYS, dropna=False)
    unlike = [c for c in varying if (groups[c].nunique(dropna=False) > 1).any()]
    if not unlike:
        return places, []
    told = [places[c].map(lambda said, c=c: f"{c}={said}") for c in unlike]
    named = [", ".join(filter(None, row)) for row in zip(places[into], *told, strict=True)]
    return places.assign(**{into: named}), [f"Trials that differ in {', '.join(unlike)} are drawn apart, not averaged."]


def _trials(places: pd.DataFrame) -> pd.DataFrame:
    """Every trial as a mark of its own."""
    done = places[(places["state"] == "done") & places["y"].notna()]
    said = [f"seed {seed}: {y:.4f}  {own}" for seed, y, own in zip(done["seed"], done["y"], done["id"], strict=True)]
    return done.assign(role="trial", n=1, trials=said)[["role", *KEYS, "y", "n", "trials", "task", "size"]]


def _densities(places: pd.DataFrame) -> pd.DataFrame:
    """The kernel density over the scores of each facet and series, its highest point at 1. It needs three scores."""
    parts = []
    for (facet, series), group in places.groupby(["facet", "series"], sort=False):
        scores = group["y"].dropna().to_numpy()
        if len(scores) < 3 or np.ptp(scores) == 0:
            continue
        density = gaussian_kde(scores)
        margin = 2 * scores.std(ddof=1)
        at = np.linspace(scores.min() - margin, scores.max() + margin, 60)
        height = density(at) / density(at).max()
        about = {"role": "density", "facet": facet, "series": series, "task": group["task"].iloc[0]}
        parts.append(pd.DataFrame({**about, "size": group["size"].iloc[0], "x": height, "y": at}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def _listed(group: pd.DataFrame) -> str:
    """The trials of a mark, one a line, for the tooltip."""
    first = group.head(LISTED)
    lines = [
        f"seed {seed}: {'undefined' if y != y else format(y, '.4f')}  {trial}"
        for seed, y, trial in zip(first["seed"], first["y"], first["id"], strict=True)
    ]
    return "\n".join([*lines, f"and {len(group) - LISTED} more"] if len(group) > LISTED else lines)


def as_first_seen(table: pd.DataFrame, places: pd.DataFrame) -> pd.DataFrame:
    """In the order of the sweep's places; numbers in their own order."""
    for key in reversed(KEYS):
        seen = list(dict.fromkeys(places[key].tolist()))
        if key == "x" and all(isinstance(item, (int, float)) for item in seen):
            seen.sort()
        rank = {item: position for position, item in enumerate(seen)}
        table = table.sort_values(key, key=lambda column, rank=rank: column.map(rank), kind="stable")
    return table


def _said_missing(places: pd.DataFrame) -> list[str]:
    trials = places.drop_duplicates("id")
    lacking = trials[trials["state"] != "done"]
    notes = []
    if len(lacking):
        failed = int((lacking["state"] == "failed").sum())
        note = f"{len(lacking)} of the {len(trials)} trials of this figure have no result"
        notes.append(f"{note} ({failed} of them failed)." if failed else f"{note} yet.")
    done = places[places["state"] == "done"]
    undefined = done.loc[done["y"].isna(), "id"].nunique()
    if undefined:
        notes.append(f"{undefined} of {done['id'].nunique()} trials have no defined score; no mean includes them.")
    empty = int((~done.assign(there=done["y"].notna()).groupby(KEYS, dropna=False)["there"].any()).sum())
    if empty:
        notes.append(f"{_counted(empty, 'place')} of the figure {'is' if empty == 1 else 'are'} empty for that reason.")
    return notes


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def _lone(data: pd.DataFrame, figure: Figure) -> list[str]:
    """Where there is no interval because there is nothing to take one from."""
    drawn = data[data["role"].isin(["mean", "dashed"])]
    if figure.interval == "none" or drawn.empty:
        return []
    alone = int((drawn["n"] < 2).sum())
    return [f"{alone} of {len(drawn)} points rest on one trial and have no interval."] if alone else []


def order_of(values: Sequence[Any]) -> list[Any]:
    """Distinct values in the order of their first appearance."""
    return list(dict.fromkeys(values))
