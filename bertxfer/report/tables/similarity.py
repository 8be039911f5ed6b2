"""How similar tasks are: do they need the same blocks of layers? An open question of tamkin2020, section 4."""

import dataclasses
import itertools
from typing import Any

import numpy as np
import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, profiles, statistics
from bertxfer.report.figure import Figure
from bertxfer.report.frame import is_gap, select
from bertxfer.report.pairs import pairs
from bertxfer.report.profiles import Agreement, agreement
from bertxfer.report.tables.table import WORDS, Table, sentences
from bertxfer.store.store import Store

_NUMBERS = ("spearman", "low", "high", "places", "seeds", "words")
_RANKS = (
    "Ranks are of mean differences from {}, paired by seed; another baseline would shift all places of a task alike"
)


def task_similarity(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each two tasks and each series: the rank correlation over x of what each place changes."""
    x = comparisons.needed_x(results, figure, "task_similarity")
    found: list[dict[str, Any]] = []
    apart: list[str] = []
    name = ""
    for y in figure.y:
        changes, apart, name = _changes(results, dataclasses.replace(figure, y=(y,)), x)
        for key, group in statistics.groups(changes, apart):
            found += [{**key, "y": y, **row} for row in _pairs_of_tasks(group)]
    data = pd.DataFrame(found, columns=[*apart, "y", "a", "b", *_NUMBERS])
    shown = [*apart, *(["y"] if len(figure.y) > 1 else [])]
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in shown})
    cells["tasks compared"] = [f"{a}, {b}" for a, b in zip(data["a"], data["b"], strict=True)]
    cells["Spearman"] = [printed.fixed(value, 2) for value in data["spearman"]]
    cells["95% interval"] = [printed.span(a, b, 2) for a, b in zip(data["low"], data["high"], strict=True)]
    cells["places"], cells["seeds"] = data["places"].map(str), data["seeds"].map(str)
    cells[WORDS] = data["words"]
    title = f"Similarity of tasks: correlation over {figure.x_label or x}"
    return Table("task_similarity", title, cells, data, sentences(_RANKS.format(name), profiles.FEW))


def _changes(results: pd.DataFrame, figure: Figure, x: str) -> tuple[pd.DataFrame, list[str], str]:
    """The paired difference of every trial from the first baseline, the columns that keep profiles apart, and the
    baseline's name.
    """
    table, by = comparisons.places(comparisons.with_baselines(results, figure), figure)
    baseline = comparisons.baselines(table, by, figure)[0]
    base = statistics.ended(select(table, baseline.where), baseline.within)
    chosen = select(table, figure.where)
    chosen = chosen[chosen[x].notna()]
    # Levels, which have no x, may be told apart by their treatment; the places of one profile must not be.
    _, own = comparisons.places(chosen, figure)
    apart = [column for column in own if column not in ("task", "measure", x)]
    rows = []
    for key, group in statistics.groups(statistics.ended(chosen, by), by):
        partners = select(base, {column: key[column] for column in baseline.within})
        for i, j in pairs(group, partners):
            mine, theirs = group.iloc[i], partners.iloc[j]
            if mine["id"] != theirs["id"]:  # else it is the baseline itself
                change = float(mine["y"]) - float(theirs["y"])
                rows.append({**key, "task": mine["task"], "seed": mine["seed"], "place": key[x], "change": change})
    return pd.DataFrame(rows, columns=[*apart, "task", "seed", "place", "change"]), apart, baseline.name


def _pairs_of_tasks(changes: pd.DataFrame) -> list[dict[str, Any]]:
    by_task = {task: profiles.profile(part, "place", "change") for task, part in changes.groupby("task", sort=False)}
    rows = []
    for (a, some), (b, others) in itertools.combinations(by_task.items(), 2):
        seeds = some.index.intersection(others.index)
        # A seed draws the same weights for both tasks, so the seeds of both are drawn together.
        one, other = profiles.over_the_same(some.loc[seeds], others.loc[seeds])
        drawn = profiles.draws(len(seeds), np.random.default_rng(0))
        found = agreement(one.to_numpy(), other.to_numpy(), (drawn, drawn))
        numbers = (found.value, found.low, found.high, one.shape[1], len(seeds), _words(found, len(seeds)))
        rows.append({"a": a, "b": b, **dict(zip(_NUMBERS, numbers, strict=True))})
    return rows


def _words(found: Agreement, seeds: int) -> str:
    words = profiles.in_words(found, seeds)
    if is_gap(found.value) or seeds < profiles.FEWEST_SEEDS:
        return words
    return f"{'alike' if found.low > 0 else 'opposed' if found.high < 0 else 'no similarity shown'}: {words}"
