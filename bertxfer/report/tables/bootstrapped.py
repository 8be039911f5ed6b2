"""Scores and differences with intervals over seeds and dev examples, from the stored predictions."""

import math
from typing import Any

import pandas as pd

from bertxfer.report import bootstrap, comparisons, stored
from bertxfer.report import cells as printed
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.pairs import pairs
from bertxfer.report.tables.table import Table, sentences
from bertxfer.store.store import Store

_ENDS = ("", "_low", "_high")
_NUMBERS = (
    *(f"{name}{end}" for name in ("score", "difference") for end in _ENDS),
    *("seeds", "examples", "undefined"),
)


def bootstrapped(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each place and baseline. Predictions have the headline score only, whatever else the figure draws."""
    table, by = comparisons.places(results.assign(measure=results["headline"]), figure)
    ended = table[table["state"] == "done"].drop_duplicates([*by, "id"])
    done = ended[~ended["undefined"].astype(bool)]
    rows = []
    for baseline in comparisons.baselines(done, by, figure):
        base = select(done, baseline.where)
        for key, group in done.groupby(by, sort=False, dropna=False):
            where: dict[str, Any] = dict(zip(by, key, strict=True))
            partners = select(base, {column: where[column] for column in baseline.within}).drop_duplicates("id")
            rows.append({**where, "baseline": baseline.name, **_row(group, partners, store)})
    data = pd.DataFrame(rows, columns=None if rows else [*by, "baseline", *_NUMBERS])
    shown = [*by, *(["baseline"] if comparisons.named_in(figure) else [])]
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in shown})
    for name in ("score", "difference"):
        cells[f"{name} ×100"] = [printed.fixed(100 * value, 1) for value in data[name]]
        limits = zip(data[f"{name}_low"], data[f"{name}_high"], strict=True)
        cells[f"95% interval of the {name}"] = [printed.span(100 * low, 100 * high) for low, high in limits]
    cells["seeds"], cells["dev examples"] = data["seeds"].map(str), data["examples"].map(str)
    trials, resamples = ended["id"].nunique() - done["id"].nunique(), int(data["undefined"].sum())
    notes = [f"{trials} of {ended['id'].nunique()} trials have no defined score and are left out" if trials else ""]
    notes += [f"{resamples} resamples have no defined score; the intervals are of the others" if resamples else ""]
    return Table("bootstrap", "Bootstrap over seeds and dev examples", cells, data, sentences(*notes))


def _row(group: pd.DataFrame, base: pd.DataFrame, store: Store) -> dict[str, Any]:
    metric, ids, base_ids = str(group["headline"].iloc[0]), group["id"].tolist(), base["id"].tolist()
    both = [(ids[i], base_ids[j]) for i, j in pairs(group, base)]
    predictions = stored.predictions([*ids, *(other for _, other in both)], store)
    score = bootstrap.bootstrap(predictions, ids, metric)
    difference = bootstrap.Estimate(math.nan, math.nan, math.nan, 0, 0)
    if any(one != other for one, other in both):  # else it is the baseline itself
        one, other = ([pair[side] for pair in both] for side in (0, 1))
        difference = bootstrap.bootstrap(predictions, one, metric, other)
    numbers = (score.value, score.low, score.high, difference.value, difference.low, difference.high)
    counts = (score.seeds, score.examples, score.undefined + difference.undefined)
    return dict(zip(_NUMBERS, (*numbers, *counts), strict=True))
