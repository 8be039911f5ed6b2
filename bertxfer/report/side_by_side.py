"""Two sweeps beside each other: their figures with a series for each, and their differences, paired."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bertxfer.errors import BertxferError
from bertxfer.report import blocks, contents, differing, drawing, frame, printing, rendering, statistics
from bertxfer.report import cells as printed
from bertxfer.report.figure import Figure
from bertxfer.report.page import Shown
from bertxfer.report.places import sizes
from bertxfer.report.splits import split
from bertxfer.report.statistics import Baseline
from bertxfer.report.subject import Subject
from bertxfer.report.tables import Table
from bertxfer.report.tables.table import WORDS, sentences
from bertxfer.report.units import POINTS, UNIT
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import refuse_links, write_text

SWEEP = "sweep"
_PLACE = ["task", "measure", "size", "treatment"]
_WITH_SERIES = ("curves", "scatter", "bars", "points", "treatments")  # kinds that show several series


def write(first: Subject, second: Subject, width: float | None = None) -> Path:
    """reports/<first>-and-<second>/index.html."""
    if first.store.root != second.store.root:
        raise BertxferError("two sweeps are compared within one results folder; `merge` brings their trials together")
    if first.name == second.name:
        raise BertxferError(f"{first.name} cannot be compared with itself")
    names = _names(first, second)
    results = both(first, second, names)
    folder = first.store.root / "reports" / f"{first.name}-and-{second.name}"
    refuse_links(first.store.root, "reports", folder.name)
    shown = _figures(first, second, results, folder, width)
    table = differences(results, names)
    paths = printing.write([table], folder / "tables")
    text = rendering.render(
        "comparison.html",
        [one.drawn.spec if one.drawn else None for one in shown],
        name=folder.name,
        title=f"{names[0]} and {names[1]}",
        first=names[0],
        second=names[1],
        demonstration=MINI_NOTE if drawing.is_demonstration(results) else None,
        figures=shown,
        said=[f"{names[1]} compared with {names[0]}: {_summary(table)}"],
        silent=contents.silent(table),
        table=contents.table(table),
        table_files=[path.relative_to(folder).as_posix() for path in paths],
        note=table.note,
        differs=_renamed(differing.from_paper(second.points, first.points), names),
        commands=[*first.commands, *second.commands],
    )
    path = folder / "index.html"
    write_text(path, text)
    return path


def both(first: Subject, second: Subject, names: Sequence[str]) -> pd.DataFrame:
    """One frame of both, so that settings are told apart over all trials; the column `sweep` says whose a row is."""
    results = frame.frame([*first.points, *second.points], first.store)
    whose = [names[0]] * len(first.points) + [names[1]] * len(second.points)
    return results.assign(**{SWEEP: whose}).assign(size=sizes)


def differences(results: pd.DataFrame, names: Sequence[str]) -> Table:
    """The second minus the first, for each place that both have, with one family of tests."""
    measured = frame.measured(results, ["score"])
    table, more = split(measured, [*_PLACE, SWEEP])
    by = [*_PLACE, *more]
    base = Baseline(names[0], {SWEEP: names[0]}, by)
    data = statistics.differences_from([base], table, by, "y", {SWEEP: names[1]})
    means = {name: _means(table[table[SWEEP] == name], by) for name in names}
    rows = data.to_dict("records")
    cells = pd.DataFrame({_LABELS.get(column, column): data[column].map(printed.text) for column in by})
    for name in names:
        cells[f"{name} {UNIT}"] = [means[name].get(tuple(row[column] for column in by), "-") for row in rows]
    cells["difference"] = [printed.signed(POINTS * value) for value in data["mean"]]
    ends = zip(data["low"], data["high"], strict=True)
    cells["95% interval"] = [printed.span(POINTS * low, POINTS * high) for low, high in ends]
    cells["p (paired t)"], cells["p (Holm)"] = (data[name].map(printed.p_value) for name in ("p_t", "p_holm"))
    cells["pairs"] = data["n"].map(str)
    cells[WORDS] = data["words"]
    unpaired = int(data["unpaired"].sum())
    note = sentences(
        f"{names[1]} minus {names[0]}, in points, pair by pair",
        f"{unpaired} trials have no partner with the same seeds and rows" if unpaired else "",
        f"fewer than {statistics.FEWEST_PAIRS} pairs are too few for a claim",
    )
    return Table("differences", f"{names[1]} minus {names[0]}, paired by seed", cells, data, note)


_LABELS = {"size": "data"}


def _means(table: pd.DataFrame, by: Sequence[str]) -> dict[tuple[Any, ...], str]:
    rows = statistics.summarize(table, by, "y").to_dict("records")
    return {tuple(row[column] for column in by): printed.mean_cell(row) for row in rows}


def _summary(table: Table) -> str:
    found = contents.findings(table)
    return found[0].partition(": ")[2] if found else "they have no place in common."


def _names(first: Subject, second: Subject) -> list[str]:
    """By their models where these differ, or by their own names."""
    models = [sorted({point.trial.science.model.name for point in one.points}) for one in (first, second)]
    if len(models[0]) == len(models[1]) == 1 and models[0] != models[1]:
        return [models[0][0], models[1][0]]
    return [first.name, second.name]


def _figures(first: Subject, second: Subject, results: pd.DataFrame, folder: Path, width: float | None) -> list[Shown]:
    shown = []
    for i, figure in enumerate(_blocks(first, second, results), start=1):
        drawn = drawing.draw(figure, results, first.store, figure.title or "Both")
        files = drawn.write(folder / "figures", f"figure-{i}", width) if drawn else []
        paths = [path.relative_to(folder).as_posix() for path in files]
        title = drawn.title if drawn else figure.title or "Both"
        shown.append(Shown(i, figure, title, True, drawn, None, False, paths))
    return shown


def _blocks(first: Subject, second: Subject, results: pd.DataFrame) -> list[Figure]:
    """How the first is drawn, if the second is drawn so too, with a series for each; or a row for each treatment."""
    block = first.block if first.experiment == second.experiment and first.block else None
    figures = blocks.figures_of(block or blocks.guess(results), first.typed)
    if not all(figure.kind in _WITH_SERIES for figure in figures):
        figures = blocks.figures_of({"kind": "treatments"}, first.typed)
    series = [(*figure.series, SWEEP) for figure in figures]
    return [
        dataclasses.replace(figure, series=names, levels={}, dashed={}, tables=())
        for figure, names in zip(figures, series, strict=True)
    ]


def _renamed(grid: contents.Grid, names: Sequence[str]) -> contents.Grid:
    return dataclasses.replace(grid, columns=["setting", names[1], names[0]])
