"""The tables that a preset's `figure` block asks for: numbers, and the cells of text that are printed of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import bootstrap, places, statistics
from bertxfer.report import cells as printed
from bertxfer.report import frame as frames
from bertxfer.report.frame import is_gap, select
from bertxfer.report.places import Figure
from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE

WORDS = "in words"


@dataclass(frozen=True)
class Table:
    """`cells` is what is printed, `data` the numbers behind it. Marks are by row and column of the cells."""

    name: str
    title: str
    cells: pd.DataFrame
    data: pd.DataFrame
    note: str = ""
    bold: frozenset[tuple[int, str]] = field(default_factory=frozenset)
    shaded: frozenset[tuple[int, str]] = field(default_factory=frozenset)


def make(results: pd.DataFrame, figure: Figure, store: Store) -> list[Table]:
    """Every table that the block names, from a frame of results. A table of nothing says so in its note."""
    made = []
    for name in figure.get("tables") or []:
        if name not in MAKERS:
            raise ConfigError("figure.tables", f"{name!r} is not one of {', '.join(MAKERS)}")
        made.append(_labelled(MAKERS[name](results, figure, store), results))
    return made


def _labelled(table: Table, results: pd.DataFrame) -> Table:
    """With the models that the numbers are of."""
    models = list(dict.fromkeys(results["model.name"]))
    note = _sentences(table.note, f"Model: {', '.join(models)}", MINI_NOTE if "mini" in models else "")
    data = table.data if "model" in table.data else table.data.assign(model=", ".join(models))
    return replace(table, note=note, data=data)


def _sentences(*said: str) -> str:
    return ". ".join(words[:1].upper() + words[1:] for words in said if words)


def summary(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """Means with their interval: a row for each facet and series, a column for each value of x and each level."""
    return _scores(results, figure, "summary", printed.mean_cell)


def medians(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """The same with medians, and the range of the trials."""
    return _scores(results, figure, "medians", printed.median_cell)


def _scores(results: pd.DataFrame, figure: Figure, name: str, cell: Callable[[Any], str]) -> Table:
    interval, x = figure.get("interval") or "t95", places.x_of(results, figure)
    table, levels = frames.measured(results, figure), figure.get("levels") or {}
    main = table[table[x].notna()] if levels and x is not None else table  # levels have columns of their own
    rows_by = places.apart(main, places.rows_by(results, figure), x)
    data = statistics.summarize(main, [*rows_by, *([x] if x is not None else [])], "y", interval)
    cells = _wide(data.assign(column=data[x].map(printed.text) if x is not None else "score"), rows_by, figure, cell)
    parts, everywhere = [data], frames.measured(results, {**figure, "where": None})
    keys = [key for key in (figure.get("facets", "task"), "measure") if key in rows_by]
    for words, where in levels.items():
        parts.append(statistics.summarize(select(everywhere, where), keys, "y", interval).assign(level=str(words)))
        cells[str(words)] = _matched(cells, parts[-1], keys, cell)
    note = _sentences(str(frames.completeness(results)), printed.interval_words(interval, data))
    title = f"{'Medians' if name == 'medians' else 'Means'} of scores x100"
    title += f", columns: {figure.get('x_label') or x}" if x is not None else ""
    return Table(name, title, cells, pd.concat(parts, ignore_index=True), note)


def differences(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """Each place minus the baseline, seed by seed, with three tests and two corrections."""
    table = places.with_baseline(results, figure)
    by = places.by(table, figure)
    data = statistics.differences(table, by, places.baseline(figure), places.within(table, figure), "y")
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in by})
    cells["difference x100"] = [printed.signed(100 * value) for value in data["mean"]]
    cells["95% interval"] = [printed.span(100 * a, 100 * b) for a, b in zip(data["low"], data["high"], strict=True)]
    cells["effect size"] = [printed.fixed(value, 2) for value in data["effect"]]
    for name, column in _TESTS.items():
        cells[name] = [printed.p_value(value) for value in data[column]]
    cells["pairs"] = data["n"].map(str)
    cells[WORDS] = data["words"]
    lonely, undefined = int(data["unpaired"].sum()), int(data["undefined"].sum())
    note = _sentences(
        f"{lonely} trials have no partner with the same seed and are left out" if lonely else "",
        f"{undefined} pairs have no defined score and are left out" if undefined else "",
        _FEW,
    )
    return Table("differences", "Differences from the baseline, paired by seed", cells, data, note)


_FEW = f"Fewer than {statistics.FEWEST_PAIRS} pairs are too few for a claim: no permutation of them is rarer than 0.05"
_TESTS = {
    "p (paired t)": "p_t",
    "p (Wilcoxon)": "p_wilcoxon",
    "p (permutation)": "p_permutation",
    "p (Holm)": "p_holm",
    "p (Benjamini-Hochberg)": "p_bh",
}


def correlations(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """tamkin2020's table 1: do the same permutations suit the same tasks?"""
    data = statistics.correlations(select(results, figure.get("where") or {}))
    cells = pd.DataFrame({"tasks compared": [f"{a}, {b}" for a, b in zip(data["a"], data["b"], strict=True)]})
    for name in ("spearman", "pearson"):
        pairs = zip(data[name], data[f"p_{name}"], strict=True)
        cells[f"{name.title()} (p)"] = [f"{printed.fixed(r, 2)} ({printed.p_value(p)})" for r, p in pairs]
    cells["permutations"] = data["n"].map(str)
    cells[WORDS] = data["words"]
    return Table("correlations", "Correlations between tasks over permutations of the layers", cells, data)


def matrix(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figure 2: final task by intermediate task; the diagonal is the task alone, the baseline."""
    table = frames.measured(results, figure)
    if "intermediate" not in table:
        table["intermediate"] = None
    table["first"] = table["intermediate"].where(table["intermediate"].notna(), table["task"])
    data = statistics.summarize(table, ["task", "first", "measure"], "y", figure.get("interval") or "t95")
    finals, firsts = list(dict.fromkeys(data["task"])), list(dict.fromkeys([*data["task"], *data["first"]]))
    means = {(row["task"], row["first"]): row["mean"] for row in data.to_dict("records")}
    without = {(row["task"], row["first"]): printed.undefined(row) for row in data.to_dict("records")}
    cells = pd.DataFrame({"final task": finals})
    for first in firsts:
        column = [(task, first) for task in finals]
        cells[first] = [printed.fixed(means.get(cell, math.nan), 3) + without.get(cell, "") for cell in column]
    cells["metric"] = [select(data, {"task": task})["measure"].iloc[0] for task in finals]
    bold, shaded = set(), set()
    for i, task in enumerate(finals):
        row = {first: means[task, first] for first in firsts if not is_gap(means.get((task, first)))}
        shaded |= {(i, first) for first, value in row.items() if value == max(row.values())}
        bold |= {(i, first) for first, value in row.items() if first != task and value > row.get(task, math.inf)}
    note = "Columns: the intermediate task. Shaded: the best of a row; bold: above the diagonal, the task alone"
    note = f"{frames.completeness(results)}. {note}"
    most = int(data["n"].max()) if len(data) else 0
    note += f". At most {most} trials a cell: too few for a claim" if most < statistics.FEWEST_PAIRS else ""
    title = "Final task (rows) after an intermediate task (columns)"
    return Table("matrix", title, cells, data, note, frozenset(bold), frozenset(shaded))


def heads(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 5 and 6: layers by heads, the difference from the baseline where that head is redrawn."""
    data = head_differences(results, figure)
    layers, numbers = sorted(set(data["layer"])), sorted(set(data["head"]))
    found = {(row["layer"], row["head"]): row["difference"] for row in data.to_dict("records")}
    cells = pd.DataFrame({"layer": [f"layer {printed.text(layer)}" for layer in layers]})
    for head in numbers:
        cells[f"head {printed.text(head)}"] = [
            printed.signed(found.get((layer, head), math.nan), 3) for layer in layers
        ]
    trials = int(data["n"].max()) if len(data) else 0
    notes = ["" if trials >= statistics.FEWEST_PAIRS else f"at most {trials} trials a head: too few for a claim"]
    note = _sentences(*notes, _without_a_score(data))
    return Table("heads", "Difference from the baseline with one attention head redrawn", cells, data, note)


def head_differences(results: pd.DataFrame, figure: Figure) -> pd.DataFrame:
    """The mean paired difference for every task, layer and head: task, layer, head, n, difference."""
    redrawn = select(results, {}) if "head" in results else results.assign(head=None, layer=None)
    found = statistics.differences(redrawn, ["task", "layer", "head"], places.baseline(figure), ["task"])
    found = found[found["head"].notna()].rename(columns={"mean": "difference"})
    return found[["task", "layer", "head", "n", "undefined", "difference", "words"]].reset_index(drop=True)


def _without_a_score(heads: pd.DataFrame) -> str:
    undefined, empty = int(heads["undefined"].sum()), int((heads["n"] == 0).sum())
    if not undefined:
        return ""
    return f"{undefined} pairs have no defined score and are left out; {empty} of {len(heads)} heads have no other"


def quartiles_by_layer(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 7 and 8: the differences of heads, summarized by layer."""
    return _quartiles(results, figure, "layer")


def quartiles_by_head(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """cs224n2020's figures 9 and 10: the same by head."""
    return _quartiles(results, figure, "head")


def _quartiles(results: pd.DataFrame, figure: Figure, by: str) -> Table:
    heads = head_differences(results, figure)
    data = statistics.quartiles(heads, by, "difference")
    cells = pd.DataFrame(
        {by: [f"{by} {printed.text(value)}" for value in data[by]], "count": data["count"].astype(int).map(str)}
    )
    for column in ("mean", "sd", "min", "25%", "50%", "75%", "max"):
        cells[column] = [printed.fixed(value, 4) for value in data[column]]
    return Table(f"quartiles_by_{by}", f"Differences from the baseline by {by}", cells, data, _without_a_score(heads))


def columns(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """kovaleva2019's table 1: a row for each task, a column for each level that the block names."""
    table = frames.measured(results, figure)
    tasks = list(dict.fromkeys(table["task"]))
    cells, parts = pd.DataFrame({"task": tasks}), []
    for words, where in (figure.get("levels") or {}).items():
        part = statistics.summarize(select(table, where), ["task", "measure"], "y", figure.get("interval") or "t95")
        cells[str(words)] = _matched(cells, part, ["task"], printed.mean_cell)
        parts.append(part.assign(column=str(words)))
    metrics = table.drop_duplicates("task").set_index("task")["measure"]
    cells["metric"] = [metrics[task] for task in tasks]
    data = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()
    return Table("columns", "Scores x100", cells, data, str(frames.completeness(results)))


def bootstrapped(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """Scores and differences with intervals over seeds and dev examples, from the stored predictions."""
    by = [
        column for column in places.by(results.assign(measure=results["task.headline"]), figure) if column != "measure"
    ]
    ended = results[results["state"] == "done"].drop_duplicates([*by, "id"])
    done = ended[~ended["undefined"].astype(bool)]
    base = select(done, places.baseline(figure))
    within = [column for column in places.within(done, figure) if column != "measure"]
    rows = []
    for key, group in done.groupby(by, sort=False, dropna=False):
        where: dict[str, Any] = dict(zip(by, key, strict=True))
        own = select(base, {column: where[column] for column in within}).drop_duplicates("id")
        rows.append({**where, **_bootstrap_row(group, own, store)})
    data = pd.DataFrame(rows, columns=None if rows else [*by, *_BOOTSTRAPPED])
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in by})
    for name in ("score", "difference"):
        cells[f"{name} x100"] = [printed.fixed(100 * value, 1) for value in data[name]]
        limits = zip(data[f"{name}_low"], data[f"{name}_high"], strict=True)
        cells[f"95% interval of the {name}"] = [printed.span(100 * low, 100 * high) for low, high in limits]
    cells["seeds"], cells["dev examples"] = data["seeds"].map(str), data["examples"].map(str)
    trials, resamples = ended["id"].nunique() - done["id"].nunique(), int(data["undefined"].sum())
    notes = [f"{trials} of {ended['id'].nunique()} trials have no defined score and are left out" if trials else ""]
    notes += [f"{resamples} resamples have no defined score; the intervals are of the others" if resamples else ""]
    return Table("bootstrap", "Bootstrap over seeds and dev examples", cells, data, _sentences(*notes))


def _bootstrap_row(group: pd.DataFrame, base: pd.DataFrame, store: Store) -> dict[str, Any]:
    both = group[["seed", "id"]].merge(base[["seed", "id"]], on="seed", suffixes=("", "_base"))
    metric = str(group["task.headline"].iloc[0])
    read = frames.predictions([*group["id"], *both["id_base"]], store)
    own = bootstrap.bootstrap(read, list(group["id"]), metric)
    row = {"score": own.value, "score_low": own.low, "score_high": own.high}
    gap = bootstrap.Estimate(math.nan, math.nan, math.nan, 0, 0)
    same = set(both["id"]) == set(both["id_base"])
    pairs = gap if both.empty or same else bootstrap.bootstrap(read, list(both["id"]), metric, list(both["id_base"]))
    row |= {"difference": pairs.value, "difference_low": pairs.low, "difference_high": pairs.high}
    return {**row, "seeds": own.seeds, "examples": own.examples, "undefined": own.undefined + pairs.undefined}


_BOOTSTRAPPED = (
    *(f"{name}{end}" for name in ("score", "difference") for end in ("", "_low", "_high")),
    *("seeds", "examples", "undefined"),
)


Maker = Callable[[pd.DataFrame, Figure, Store], Table]
MAKERS: dict[str, Maker] = {
    "summary": summary,
    "medians": medians,
    "differences": differences,
    "correlations": correlations,
    "matrix": matrix,
    "heads": heads,
    "quartiles_by_layer": quartiles_by_layer,
    "quartiles_by_head": quartiles_by_head,
    "columns": columns,
    "bootstrap": bootstrapped,
}


def _wide(data: pd.DataFrame, rows_by: Sequence[str], figure: Figure, cell: Callable[[Any], str]) -> pd.DataFrame:
    """A row for every combination of `rows_by`, a column for every value of x, in the order of the frame."""
    names = list(dict.fromkeys(data["column"]))
    labels = {str(key): str(words) for key, words in (figure.get("series_labels") or {}).items()}
    rows: dict[tuple[Any, ...], dict[str, str]] = {}
    for record in data.to_dict("records"):
        key = tuple(printed.text(record[column]) for column in rows_by)
        rows.setdefault(key, dict.fromkeys(names, "-"))[record["column"]] = cell(record)
    cells = pd.DataFrame([{**dict(zip(rows_by, key, strict=True)), **row} for key, row in rows.items()])
    cells = cells if len(cells) else pd.DataFrame(columns=[*rows_by, *names])
    series = figure.get("series")
    if labels and series in cells:
        cells[series] = [labels.get(value, labels.get(value.lower(), value)) for value in cells[series]]
    return cells


def _matched(cells: pd.DataFrame, part: pd.DataFrame, keys: Sequence[str], cell: Callable[[Any], str]) -> list[str]:
    found = {tuple(printed.text(row[key]) for key in keys): cell(row) for row in part.to_dict("records")}
    return [found.get(tuple(row[key] for key in keys), "-") for row in cells.to_dict("records")]
