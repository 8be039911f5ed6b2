"""How much of what pretraining gives is left at each place: (score - none) / (full - none), paired by seed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, shares, statistics
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.pairs import pairs
from bertxfer.report.tables.table import WORDS, Table, sentences
from bertxfer.store.store import Store

Array = NDArray[Any]
NONE, FULL = "none", "full"
ENDS: Mapping[str, Mapping[str, Any]] = {NONE: {"scheme": "scratch"}, FULL: {"treatment_text": "as pretrained"}}
_TITLE = "Share of the benefit of pretraining, (score - none) / (full - none), paired by seed"
_NUMBERS = ("unpaired", "undefined", *shares.Share.__dataclass_fields__, "words")


def benefit(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """A row for each place that is not itself one of the two ends, which have 0% and 100% by definition."""
    ends = {name: dict(where) for name, where in (figure.benefit or ENDS).items()}
    compared = replace(figure, baseline=ends)
    table, by = comparisons.places(comparisons.with_baselines(results, compared), compared)
    found = {end.name: end for end in comparisons.baselines(table, by, compared)}
    done = {name: statistics.ended(select(table, end.where), end.within) for name, end in found.items()}
    rows = []
    for key, group in statistics.groups(statistics.ended(select(table, figure.where), by), by):
        some = {name: select(done[name], {column: key[column] for column in found[name].within}) for name in ends}
        if not any(set(group["id"]) <= set(end["id"]) for end in some.values()):
            rows.append({**key, **_row(group, some[NONE], some[FULL])})
    data = pd.DataFrame(rows, columns=[*by, *_NUMBERS])
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in by})
    sets = [shares.Share(**{name: row[name] for name in shares.Share.__dataclass_fields__}) for row in rows]
    cells["share (%)"] = [printed.fixed(100 * one.share, 0) for one in sets]
    cells["95% interval"] = [shares.set_in_words(one) for one in sets]
    cells["benefit x100"] = [printed.signed(100 * one.benefit) for one in sets]
    cells["triples"] = [str(one.n) for one in sets]
    cells[WORDS] = data["words"]
    return Table("benefit", _TITLE, cells, data, _note(data, done, ends))


def _row(group: pd.DataFrame, none: pd.DataFrame, full: pd.DataFrame) -> dict[str, Any]:
    triples = _triples(group, none, full)
    chosen = zip((group, none, full), zip(*triples, strict=True) if triples else ((), (), ()), strict=True)
    scores = np.array([table["y"].to_numpy(dtype=float)[list(rows)] for table, rows in chosen])
    defined = ~np.isnan(scores).any(axis=0)
    kept = [triple for triple, there in zip(triples, defined, strict=True) if there]
    score, low, high = (_independent(line[defined], kept) for line in scores)
    found = shares.fieller(score - low, high - low)
    counts = {"unpaired": len(group) - len({i for i, _, _ in triples}), "undefined": int((~defined).sum())}
    return {**counts, **vars(found), "words": shares.in_words(found)}


def _triples(group: pd.DataFrame, none: pd.DataFrame, full: pd.DataFrame) -> list[tuple[int, int, int]]:
    """A trial of the place and one of each end, any two of which are a pair."""
    of_full: dict[int, list[int]] = {}
    for i, k in pairs(group, full):
        of_full.setdefault(i, []).append(k)
    ends = set(pairs(none, full))
    return [(i, j, k) for i, j in pairs(group, none) for k in of_full.get(i, []) if (j, k) in ends]


def _independent(values: Array, triples: list[tuple[int, int, int]]) -> Array:
    """The values averaged over triples that share a trial: they are one draw of what that trial drew.

    Three draws of the reinitialized layers beside one run of each end say nothing of how the ends vary.
    """
    if not triples:
        return values
    trials = {trial: at for at, trial in enumerate({(side, row) for one in triples for side, row in enumerate(one)})}
    edges = [(at, len(triples) + trials[side, row]) for at, one in enumerate(triples) for side, row in enumerate(one)]
    size = len(triples) + len(trials)
    graph = coo_array((np.ones(len(edges)), tuple(np.transpose(edges))), shape=(size, size))
    _, labels = connected_components(graph, directed=False)
    return pd.Series(values).groupby(labels[: len(triples)]).mean().to_numpy()


def _note(data: pd.DataFrame, done: Mapping[str, pd.DataFrame], ends: Mapping[str, Mapping[str, Any]]) -> str:
    missing = [name for name in ends if done[name].empty]
    if missing:
        said = [f"{name} ({', '.join(f'{k}: {v}' for k, v in ends[name].items())})" for name in missing]
        return sentences(f"No trial of {' or of '.join(said)} is done, so that no share can be told")
    lonely, undefined = int(data["unpaired"].sum()), int(data["undefined"].sum())
    return sentences(
        f"None: {_named(ends[NONE])}; full: {_named(ends[FULL])}",
        "Intervals are Fieller's, each for its own place, without a correction for many. "
        "Where the benefit is not told from zero they have no bound",
        f"{lonely} trials have no partner with the same seed at both ends and are left out" if lonely else "",
        f"{undefined} triples have no defined score and are left out" if undefined else "",
        "Triples that share a trial count as one",
    )


def _named(where: Mapping[str, Any]) -> str:
    return ", ".join(str(v) if k in ("treatment", "treatment_text") else f"{k}={v}" for k, v in where.items())
