"""The tables that a `figure:` block may name, each made from the frame of results. A new one is a line of MAKERS."""

from dataclasses import replace

import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report import words
from bertxfer.report.figure import Figure
from bertxfer.report.tables.benefit import benefit
from bertxfer.report.tables.bootstrapped import bootstrapped
from bertxfer.report.tables.by_epoch import by_epoch
from bertxfer.report.tables.columns import columns
from bertxfer.report.tables.comparing import correlations, differences
from bertxfer.report.tables.components import components
from bertxfer.report.tables.heads import heads, quartiles_by_head, quartiles_by_layer
from bertxfer.report.tables.matrix import matrix
from bertxfer.report.tables.probing import probing_correlations
from bertxfer.report.tables.scores import medians, summary
from bertxfer.report.tables.similarity import task_similarity
from bertxfer.report.tables.table import WORDS, Maker, MakerBeside, Table, sentences
from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE

MAKERS: dict[str, Maker] = {
    "summary": summary,
    "medians": medians,
    "differences": differences,
    "benefit": benefit,
    "components": components,
    "correlations": correlations,
    "matrix": matrix,
    "heads": heads,
    "quartiles_by_layer": quartiles_by_layer,
    "quartiles_by_head": quartiles_by_head,
    "columns": columns,
    "by_epoch": by_epoch,
    "bootstrap": bootstrapped,
    "task_similarity": task_similarity,
}
# Those that also take the results of the experiment that is drawn dashed.
BESIDE: dict[str, MakerBeside] = {"probing_correlations": probing_correlations}

__all__ = ["BESIDE", "MAKERS", "WORDS", "Table", "make"]


def make(results: pd.DataFrame, figure: Figure, store: Store, dashed: pd.DataFrame | None = None) -> list[Table]:
    """Every table that the figure names, from a frame of results. A table of nothing says so in its note."""
    made = []
    for name in figure.tables:
        if name in BESIDE:
            table = BESIDE[name](results, figure, store, dashed)
        elif name in MAKERS:
            table = MAKERS[name](results, figure, store)
        else:
            raise ConfigError("figure.tables", f"{name!r} is not one of {', '.join([*MAKERS, *BESIDE])}")
        made.append(_labelled(_in_words(table, figure), results))
    return made


def _in_words(table: Table, figure: Figure) -> Table:
    """With tasks, metrics and values in the paper's words, and those of series in the words that the block has."""
    labels = {str(key): str(name) for key, name in figure.series_labels.items()}
    worded = {}
    for column in table.cells:
        own = labels if column in figure.series else {}
        worded[column] = [own.get(v, own.get(v.lower(), words.cell(column, v))) for v in table.cells[column]]
    # Tasks may be columns too.
    named = {column: words.task(column) for column in table.cells}
    bold, shaded = (frozenset((row, named[column]) for row, column in marks) for marks in (table.bold, table.shaded))
    cells = table.cells.assign(**worded).rename(columns=named)
    return replace(table, cells=cells, bold=bold, shaded=shaded)


def _labelled(table: Table, results: pd.DataFrame) -> Table:
    """With the models that the numbers are of."""
    models = list(dict.fromkeys(results["model"]))
    note = sentences(table.note, f"Model: {', '.join(models)}", MINI_NOTE if "mini" in models else "")
    data = table.data if "model" in table.data else table.data.assign(model=", ".join(models))
    return replace(table, note=note, data=data)
