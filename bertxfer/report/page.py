"""The report: one self-contained HTML page, with its figures and tables as files beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from bertxfer.report import (
    blocks,
    contents,
    differing,
    drawing,
    frame,
    printing,
    published,
    rendering,
    scorecard,
    tables,
    trial_table,
    words,
)
from bertxfer.report.drawing import Drawing
from bertxfer.report.figure import Figure
from bertxfer.report.highlights import highlights
from bertxfer.report.kinds import KINDS
from bertxfer.report.places import sizes
from bertxfer.report.sheets import csv
from bertxfer.report.subject import Subject
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import refuse_links, write_text


@dataclass(frozen=True)
class Shown:
    """A figure on the page: drawn, or only a title with what was published."""

    number: int
    figure: Figure
    title: str
    awaited: bool  # a chart belongs here, drawn or not yet
    drawn: Drawing | None
    published: published.Published | None
    is_beside: bool  # whether the published numbers stand beside ours, in a chart or a table
    files: list[str]

    @property
    def explanation(self) -> str:
        return self.drawn.explanation if self.drawn else ""

    @property
    def published_grid(self) -> contents.Grid:
        assert self.published is not None
        return contents.Grid(self.published.columns, self.published.rows)

    @property
    def notes(self) -> list[str]:
        return self.drawn.marks.notes if self.drawn else []


@dataclass(frozen=True)
class Made:
    """All that was drawn and counted of a subject."""

    subject: Subject
    results: pd.DataFrame
    shown: list[Shown]
    tables: list[tuple[tables.Table, contents.Grid, list[str]]]


def write(subject: Subject, renewed: int | None = None, width: float | None = None) -> Path:
    """Writes reports/<name>/index.html, its figures and its tables; the results themselves are only read. `renewed`:
    after how many seconds the page looks again. `width`: of the files of figures, in inches."""
    made = write_whole(subject, renewed, width)
    return made.subject.store.root / "reports" / subject.name / "index.html"


def write_whole(subject: Subject, renewed: int | None = None, width: float | None = None) -> Made:
    """The same, with what was drawn and counted for it."""
    folder = subject.store.root / "reports" / subject.name
    for part in ("figures", "tables"):
        refuse_links(subject.store.root, "reports", subject.name, part)
    folder.mkdir(parents=True, exist_ok=True)
    made = make(subject, folder, width)
    trials = trial_table.table(made.results)
    (folder / "tables").mkdir(exist_ok=True)
    write_text(folder / "tables" / "trials.csv", csv(trials))
    write_text(folder / "index.html", _page(made, trials, renewed))
    return made


def make(subject: Subject, folder: Path, width: float | None = None) -> Made:
    """The figures and tables of a subject, with their files."""
    results = frame.frame(subject.points, subject.store, subject.unneeded)
    figures = blocks.figures_of(subject.block or blocks.guess(results), subject.typed)
    figures = [_in_its_words(figure, results) for figure in figures]
    dashed = [_dashed(figure, subject) for figure in figures]
    made = _tables(figures, results, dashed, subject, folder)
    in_tables = any(grid.papers for _, grid, _ in made)
    shown: list[Shown] = []
    for i, figure in enumerate(figures):
        one = _shown(figure, len(shown) + 1, i, results, dashed[i], subject, folder, in_tables, width)
        shown += [one] if one.awaited or one.published else []
    return Made(subject, results, shown, made)


def _in_its_words(figure: Figure, results: pd.DataFrame) -> Figure:
    """What the papers call full BERT is called so only where BERT was run."""
    if results["model.name"].astype(str).str.contains("bert", case=False).all():
        return figure

    def named(selections: dict[str, Any]) -> dict[str, Any]:
        return {str(name).replace("full BERT", "full model"): where for name, where in selections.items()}

    return replace(figure, levels=named(figure.levels), baseline=named(figure.baseline))


def _shown(
    figure: Figure,
    number: int,
    index: int,
    results: pd.DataFrame,
    dashed: pd.DataFrame | None,
    subject: Subject,
    folder: Path,
    in_tables: bool,
    width: float | None,
) -> Shown:
    name = subject.titled(figure.title)
    printed = published.find(subject.experiment, figure.published)
    drawn = drawing.draw(figure, results, subject.store, name, dashed, printed)
    title = drawn.title if drawn else f"{name} · {', '.join(drawing.models(results))}"
    files = drawn.write(folder / "figures", f"figure-{index + 1}", width) if drawn else []
    return Shown(
        number,
        figure,
        title,
        KINDS[figure.kind].chart is not None,
        drawn,
        printed if index == 0 or figure.published else None,
        in_tables or bool(drawn and drawn.has_published),
        [path.relative_to(folder).as_posix() for path in files],
    )


def _dashed(figure: Figure, subject: Subject) -> pd.DataFrame | None:
    """The results of the experiment that is drawn dashed, as far as there are any."""
    if not figure.dashed:
        return None
    results = frame.frame(subject.beside(figure.dashed["experiment"]), subject.store)
    return results if (results["state"] == "done").any() else None


def _tables(
    figures: Sequence[Figure],
    results: pd.DataFrame,
    dashed: Sequence[pd.DataFrame | None],
    subject: Subject,
    folder: Path,
) -> list[tuple[tables.Table, contents.Grid, list[str]]]:
    """Every table that the figures ask for, once, with its files."""
    written = []
    for i, figure in enumerate(figures):
        printed = published.find(subject.experiment, figure.published)
        for made in tables.make(results, figure, subject.store, dashed[i]):
            # Several figures of one experiment may ask for tables of the same name.
            target = folder / "tables" / (str(i + 1) if len(figures) > 1 else "")
            paths = printing.write([made], target)
            grid = contents.table(made, printed)
            written.append((made, grid, [path.relative_to(folder).as_posix() for path in paths]))
    return written


def _page(made: Made, trials: pd.DataFrame, renewed: int | None) -> str:
    subject, results = made.subject, made.results
    counts, card = frame.completeness(results), scorecard.of(subject)
    differs_title, differs, settings = _settings(subject, results)
    drawn_figures = [one.figure if one.drawn else None for one in made.shown]
    tests = [test for test in (contents.findings(table) for table, _, _ in made.tables) if test]
    return rendering.render(
        "report.html",
        [one.drawn.spec if one.drawn else None for one in made.shown],
        trial_table.for_page(trials),
        renewed=renewed,
        name=subject.name,
        title=f"{subject.titled()} · {', '.join(drawing.models(results))}",
        description=sentence(subject.description),
        models=drawing.models(results),
        ran=trial_table.ran(results),
        demonstration=MINI_NOTE if drawing.is_demonstration(results) else None,
        completeness=str(counts),
        shares=contents.shares(counts),
        progress=contents.progress(results),
        not_needed=counts.not_needed,
        troubles=trial_table.troubles(trials),
        filters=_filters(results),
        has_findings=bool(card.entries or card.left_out or tests),
        card=highlights(card, drawn_figures),
        every_case=contents.claims(card),
        claims_summary=card.summary,
        claims_left_out=card.left_out,
        figures=made.shown,
        tables=[
            {"grid": grid, "title": t.title, "note": t.note, "files": files, "silent": contents.silent(t)}
            for t, grid, files in made.tables
        ],
        said=[summary for summary, _ in tests],
        tests=[{"summary": summary, "lines": lines} for summary, lines in tests if lines],
        axes=contents.axes(subject.points),
        differs_title=differs_title,
        differs=differs,
        settings=settings,
        commands=subject.commands,
        versions=contents.versions(results.loc[results["state"] == "done", "id"], subject.store),
    )


def _settings(subject: Subject, results: pd.DataFrame) -> tuple[str, contents.Grid, contents.Grid]:
    """What differs from the paper's experiment, or from the defaults where there is none; and all settings."""
    from_defaults, settings = contents.settings(results, subject.defaults())
    paper = subject.as_written()
    if paper is None:
        return "What differs from the defaults", from_defaults, settings
    of_paper = "/" in str(subject.experiment)
    title = f"What differs from the {'paper' if of_paper else 'experiment as it is written'}"
    return title, differing.from_paper(subject.points, paper), settings


def _filters(results: pd.DataFrame) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What can be chosen on the page: tasks and sizes, where there is more than one."""
    tasks = [(str(task), words.task(str(task))) for task in dict.fromkeys(results["task"])]
    amounts = [(size, size) for size in dict.fromkeys(sizes(results))]
    filters = [("task", "Task", tasks), ("size", "Data", amounts)]
    return [entry for entry in filters if len(entry[2]) > 1]


def sentence(text: str | None) -> str | None:
    return f"{text[:1].upper()}{text[1:].rstrip('. ')}." if text else None
