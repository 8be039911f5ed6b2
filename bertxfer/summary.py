"""Results in the terminal: a line a trial, and a table of scores per treatment."""

import statistics
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from bertxfer.costs import seconds_of
from bertxfer.science import Science
from bertxfer.store import Result

MINI_NOTE = "mini model and generated language: they show the method and say nothing about English"


def line(result: Result, how: str) -> str:
    score = score_text(result)
    seconds = seconds_of(result["timings"])
    return (
        f"{how:6}  {result['id']}  {result['model']}  {result['task']}  n={result['n_train']}  "
        f"seed={result['seed']}  {result['treatment_text']}  score={score}  ({seconds:.1f} s)"
    )


def score_text(result: Result) -> str:
    """The score with four digits, or why there is none."""
    if result["score"] is not None:
        return f"{result['score']:.4f}"
    reasons = list(dict.fromkeys(map(str, (result.get("undefined") or {}).values())))
    return f"undefined ({reasons[0]})" if reasons else "undefined"


def print_table(trials: Sequence[tuple[Science, Result]]) -> None:
    """Median, and mean with sd, of the scores x100: one row a treatment, one column a task and size.

    Only seeds are averaged over: whatever else differs between trials is named in their row.
    """
    if not trials:
        return
    results = [result for _, result in trials]
    columns = list(dict.fromkeys((r["model"], r["task"], r["n_train"]) for r in results))
    rows: dict[str, dict[tuple[str, str, int], list[float | None]]] = {}
    for result, others in zip(results, _what_differs([science for science, _ in trials]), strict=True):
        label = result["treatment_text"]
        if order := result["treatment"].get("order"):
            label = label.replace("order " + " ".join(map(str, order)), "layers permuted")
        label = ", ".join([label, *others])
        column = (result["model"], result["task"], result["n_train"])
        rows.setdefault(label, {}).setdefault(column, []).append(result["score"])
    table = Table(title="scores x100: median (mean ± sd, trials)")
    table.add_column("treatment")
    for model, task, n in columns:
        table.add_column(f"{task}\n{model}, n={n}", justify="right")
    for label, cells in rows.items():
        table.add_row(label, *(_cell(cells.get(column, [])) for column in columns))
    console = Console(markup=False, emoji=False)  # names and reasons are text, whatever brackets they have
    console.print(table)
    if any(r["model"] == "mini" for r in results):
        console.print(MINI_NOTE, style="italic")
    if undefined := sum(r["score"] is None for r in results):
        console.print(f"{undefined} of {len(results)} trials have no defined score and are in no median or mean")


def _what_differs(sciences: Sequence[Science]) -> list[list[str]]:
    """Settings of training that are not the same in all trials, for each trial."""
    plain = [science.as_dict() for science in sciences]
    flat = [
        {
            f"{part}.{key}": value
            for part in ("model", "data", "optimizer", "training")
            for key, value in p[part].items()
        }
        for p in plain
    ]
    shown_elsewhere = ("model.name", "model.version", "model.family", "model.layers", "model.heads", "data.n")
    keys = [key for key in flat[0] if key not in shown_elsewhere and len({str(one[key]) for one in flat}) > 1]
    return [[f"{key}={one[key]}" for key in keys] for one in flat]


def _cell(given: list[float | None]) -> str:
    scores = [100 * score for score in given if score is not None]
    without = f", {len(given) - len(scores)} undefined" if len(scores) < len(given) else ""
    if not scores:
        return f"- ({without.removeprefix(', ')})" if without else "-"
    if len(scores) == 1:
        return f"{scores[0]:.1f} (1{without})"
    spread = f"{statistics.mean(scores):.1f} ± {statistics.stdev(scores):.1f}, {len(scores)}"
    return f"{statistics.median(scores):.1f} ({spread}{without})"
