"""Results in the terminal: one line per trial, and a table of scores per treatment."""

import statistics
from collections.abc import Sequence

from bertxfer.store.results import Result, seconds_of
from bertxfer.trials import model_names, replicates
from bertxfer.trials.pretrained import DEMONSTRATION
from bertxfer.trials.science import Science

MINI_NOTE = "mini model and generated language: they show the method and say nothing about English"


def line(result: Result, state: str) -> str:
    score = score_text(result)
    seconds = seconds_of(result["timings"])
    return (
        f"{state:6}  {result['id']}  {result['model']}  {result['task']}  n={result['n_train']}  "
        f"seed={result['seed']}  {result['treatment_text']}  score={score}  ({seconds:.1f} s)"
    )


def score_text(result: Result) -> str:
    """The score with four digits, or why there is none."""
    if result["score"] is not None:
        return f"{result['score']:.4f}"
    reasons = list(dict.fromkeys(map(str, (result.get("undefined") or {}).values())))
    return f"undefined ({reasons[0]})" if reasons else "undefined"


Column = tuple[str, str, int | str, str]  # model, task, training rows, metric


def print_table(trials: Sequence[tuple[Science, Result]]) -> None:
    """Median, and mean with sd, of the scores ×100: one row per treatment, one column per model, task, size and metric.

    Only replicates are averaged: whatever else differs between the trials of a cell is named in their rows.
    """
    if not trials:
        return
    from rich.console import Console  # not at the top: workers say lines, and draw nothing
    from rich.table import Table

    results = [result for _, result in trials]
    models = model_names.labels(science for science, _ in trials)
    columns: list[Column] = [(models[s.model.version], s.task.name, r["n_train"], r["headline"]) for s, r in trials]
    rows: dict[str, dict[Column, list[float | None]]] = {}
    for label, column, result in zip(
        _labels([science for science, _ in trials], columns), columns, results, strict=True
    ):
        rows.setdefault(label, {}).setdefault(column, []).append(result["score"])
    shown = list(dict.fromkeys(columns))
    table = Table(title="scores ×100: median (mean ± sd, trials)")
    table.add_column("treatment")
    several = len({(task, metric) for _, task, _, metric in shown}) > len({task for _, task, _, _ in shown})
    for model, task, n, metric in shown:
        named = f"{task} ({metric})" if several else task
        table.add_column(f"{named}\n{model}, n={n}", justify="right")
    for label, cells in rows.items():
        table.add_row(label, *(_cell(cells.get(column, [])) for column in shown))
    console = Console(markup=False, emoji=False)  # names and reasons are text, whatever brackets they have
    console.print(table)
    if any(science.model.name == DEMONSTRATION for science, _ in trials):
        console.print(MINI_NOTE, style="italic")
    if undefined := sum(r["score"] is None for r in results):
        console.print(f"{undefined} of {len(results)} trials have no defined score and are in no median or mean")


def _labels(sciences: Sequence[Science], columns: Sequence[Column]) -> list[str]:
    """The row of each trial: its treatment, and the settings by which the groups of one cell differ."""
    groups = replicates.groups(sciences)
    cells: dict[tuple[str, Column], list[int]] = {}
    for i, (group, column) in enumerate(zip(groups, columns, strict=True)):
        cells.setdefault((group.treatment, column), []).append(i)
    labels = [group.treatment for group in groups]
    for members in cells.values():
        if len({groups[i] for i in members}) > 1:
            differing = replicates.differing([sciences[i] for i in members])
            for i, settings in zip(members, differing, strict=True):
                labels[i] = ", ".join([labels[i], *(f"{name}={value}" for name, value in settings.items())])
    return labels


def _cell(values: list[float | None]) -> str:
    scores = [100 * score for score in values if score is not None]
    without = f", {len(values) - len(scores)} undefined" if len(scores) < len(values) else ""
    if not scores:
        return f"- ({without.removeprefix(', ')})" if without else "-"
    if len(scores) == 1:
        return f"{scores[0]:.1f} (1{without})"
    spread = f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}, {len(scores)}"
    return f"{statistics.median(scores):.1f} ({spread}{without})"
