"""Comparisons as tables: differences from a baseline with their tests, and correlations between tasks."""

import pandas as pd

from bertxfer.report import cells as printed
from bertxfer.report import comparisons, statistics
from bertxfer.report.correlations import FEWEST_PERMUTATIONS, between_tasks
from bertxfer.report.figure import Figure
from bertxfer.report.frame import select
from bertxfer.report.splits import SHOWN_BY, split
from bertxfer.report.tables.table import WORDS, Table, sentences
from bertxfer.store.store import Store

_FEW = f"Fewer than {statistics.FEWEST_PAIRS} pairs are too few for a claim: no permutation of them is rarer than 0.05"
_FEW_ORDERS = (
    f"Fewer than {FEWEST_PERMUTATIONS} permutations are too few for a claim: no ranking of them is rarer than 0.05"
)
_TESTS = {
    "p (paired t)": "p_t",
    "p (Wilcoxon)": "p_wilcoxon",
    "p (permutation)": "p_permutation",
    "p (Holm)": "p_holm",
    "p (Benjamini-Hochberg)": "p_bh",
}


def differences(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """Each place minus each baseline, seed by seed, with three tests and two corrections."""
    table, by = comparisons.places(comparisons.with_baselines(results, figure), figure)
    baselines = comparisons.baselines(table, by, figure)
    data = statistics.differences_from(baselines, table, by, "y", figure.where)
    shown = [*by, *(["baseline"] if comparisons.named_in(figure) else [])]
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in shown})
    cells["difference ×100"] = [printed.signed(100 * value) for value in data["mean"]]
    cells["95% interval"] = [printed.span(100 * a, 100 * b) for a, b in zip(data["low"], data["high"], strict=True)]
    cells["effect size"] = [printed.fixed(value, 2) for value in data["effect"]]
    for name, column in _TESTS.items():
        cells[name] = [printed.p_value(value) for value in data[column]]
    cells["pairs"] = data["n"].map(str)
    cells[WORDS] = data["words"]
    lonely, undefined = int(data["unpaired"].sum()), int(data["undefined"].sum())
    each = ", counted for each baseline" if len(baselines) > 1 else ""
    note = sentences(
        f"{lonely} trials have no partner with the same seed and are left out{each}" if lonely else "",
        f"{undefined} pairs have no defined score and are left out" if undefined else "",
        _FEW,
    )
    names = " and from ".join(baseline.name for baseline in baselines)
    return Table("differences", f"Differences from {names}, paired by seed", cells, data, note)


def correlations(results: pd.DataFrame, figure: Figure, store: Store) -> Table:
    """tamkin2020's table 1: do the same permutations suit the same tasks?"""
    # Chosen orders are treatments of their own; here they are what is correlated over.
    shown_by = [shown for shown in SHOWN_BY if shown[0] != "treatment"]
    table, apart = split(select(results, figure.where), ["task"], shown_by)
    data = between_tasks(table, apart)
    cells = pd.DataFrame({column: data[column].map(printed.text) for column in apart})
    cells["tasks compared"] = [f"{a}, {b}" for a, b in zip(data["a"], data["b"], strict=True)]
    for name in ("spearman", "pearson"):
        both = zip(data[name], data[f"p_{name}"], strict=True)
        cells[f"{name.title()} (p)"] = [f"{printed.fixed(r, 2)} ({printed.p_value(p)})" for r, p in both]
    cells["p (Spearman, Holm)"] = [printed.p_value(value) for value in data["p_holm"]]
    cells["permutations"] = data["n"].map(str)
    cells[WORDS] = data["words"]
    note = (
        f"Fewer than {FEWEST_PERMUTATIONS} permutations are too few for a claim: no ranking of them is rarer than 0.05"
    )
    return Table("correlations", "Correlations between tasks over permutations of the layers", cells, data, note)
