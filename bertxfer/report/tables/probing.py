"""Does probing a layer predict fine-tuning with the layers up to it, the more so the smaller the data?

An open question of tamkin2020, section 3.
"""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import cells as printed
from bertxfer.report import comparisons, profiles, statistics
from bertxfer.report import frame as frames
from bertxfer.report.figure import Figure
from bertxfer.report.frame import is_gap, select
from bertxfer.report.profiles import Agreement, agreement
from bertxfer.report.splits import split
from bertxfer.report.tables.table import WORDS, Table, sentences
from bertxfer.store.store import Store

_SIZES = ("data.n", "data.fraction")
_NUMBERS = ("spearman", "low", "high", "layers", "seeds", "probes", "words")
_TITLE = "Probing a layer and fine-tuning with the layers up to it: correlation over layers"


def probing_correlations(results: pd.DataFrame, figure: Figure, store: Store, dashed: pd.DataFrame | None) -> Table:
    """A row for each task and size; `dashed` has the results of the probes, where there are any."""
    if not figure.dashed:
        raise ConfigError("figure.dashed", "probing_correlations needs the experiment that probes: {experiment, x}")
    x, probed_x = comparisons.needed_x(results, figure, "probing_correlations"), figure.dashed["x"]
    chosen = select(frames.measured(results, figure.y), figure.where)
    table, by = comparisons.places(chosen[chosen[x].notna()], figure)
    rows = [column for column in by if column != x]
    size = next((column for column in _SIZES if column in rows), None)
    found = []
    if dashed is not None:
        probes, _ = split(frames.measured(dashed, figure.y), ["task", "measure", probed_x])
        for key, family in statistics.groups(statistics.ended(table, by), [c for c in rows if c != size]):
            probed = statistics.ended(select(probes, _shared(key, probes)), [probed_x])
            found += [{**key, **row} for row in _by_size(family, x, size, probed, probed_x)]
    data = pd.DataFrame(found, columns=[*rows, *_NUMBERS])
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in rows})
    cells["Spearman"] = [printed.fixed(value, 2) for value in data["spearman"]]
    cells["95% interval"] = [printed.span(a, b, 2) for a, b in zip(data["low"], data["high"], strict=True)]
    for name, column in (("layers", "layers"), ("seeds", "seeds"), ("seeds of probes", "probes")):
        cells[name] = data[column].map(str)
    cells[WORDS] = data["words"]
    missing = f"no trial of {figure.dashed['experiment']} is done, so that there is nothing to compare with"
    said = "Each size is compared with the next larger one" if dashed is not None else missing
    return Table("probing_correlations", _TITLE, cells, data, sentences(said, profiles.FEW))


def _shared(key: Mapping[str, Any], probes: pd.DataFrame) -> dict[str, Any]:
    """What a row and its probes have in common; probes have sizes of their own, and no layers are reinitialized."""
    return {column: key[column] for column in ("task", "measure", "model") if column in key and column in probes}


def _by_size(
    family: pd.DataFrame, x: str, size: str | None, probed: pd.DataFrame, probed_x: str
) -> list[dict[str, Any]]:
    """The rows of trials that differ in nothing but their size, each in words beside the next larger one."""
    if len(probed) and probed.groupby(probed_x)["group"].nunique().max() > 1:
        raise ConfigError("figure.dashed", "its trials at one layer are not replicates of each other")
    probing, rng = profiles.profile(probed, probed_x, "y"), np.random.default_rng(0)
    drawn = profiles.draws(len(probing), rng)  # the same for all sizes
    rows: list[dict[str, Any]] = []
    found: list[tuple[Agreement, pd.Index]] = []
    for key, group in statistics.groups(family, [size] if size else []):
        tuned, probes = profiles.over_the_same(profiles.profile(group, x, "y"), probing)
        both = agreement(tuned.to_numpy(), probes.to_numpy(), (profiles.draws(len(tuned), rng), drawn))
        counts = {"layers": tuned.shape[1], "seeds": len(tuned), "probes": len(probes)}
        rows.append({**key, "spearman": both.value, "low": both.low, "high": both.high, **counts})
        found.append((both, tuned.columns))
    order = sorted(range(len(rows)), key=lambda i: _number(rows[i].get(size or "")))
    for i, larger in itertools.zip_longest(order, order[1:]):
        seeds = min(rows[i]["seeds"], rows[i]["probes"])
        rows[i]["words"] = profiles.in_words(found[i][0], seeds)
        if larger is not None:
            name = f"{size}={printed.text(rows[larger][size or ''])}"
            fewest = min(seeds, rows[larger]["seeds"])
            same = found[i][1].equals(found[larger][1])
            rows[i]["words"] += _change(found[i][0].minus(found[larger][0]), name, fewest, same)
    return rows


def _number(size: Any) -> float:
    return math.inf if size == "all" or is_gap(size) else float(size)


def _change(change: Agreement, larger: str, seeds: int, same_layers: bool) -> str:
    if is_gap(change.value) or not same_layers:
        return f", not compared with {larger}, which has other layers" if not same_layers else ""
    if seeds < profiles.FEWEST_SEEDS:
        return f", {change.value:+.2f} from {larger} in {statistics.counted(seeds, 'seed')}: too few for a claim"
    interval = f"change {change.value:+.2f}, 95% interval {change.low:+.2f} to {change.high:+.2f}"
    if change.low > 0 or change.high < 0:
        return f", {'closer to' if change.low > 0 else 'further from'} probing than with {larger} ({interval})"
    return f", no change from {larger} shown ({interval})"
