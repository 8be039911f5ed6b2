"""The report: one self-contained HTML page, with its figures and tables as files beside it."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import vl_convert
from markupsafe import Markup

from bertxfer import __version__
from bertxfer.report import blocks, contents, drawing, frame, printing, published, scorecard, tables, words
from bertxfer.report.drawing import Drawing
from bertxfer.report.figure import Figure
from bertxfer.report.kinds import KINDS
from bertxfer.report.places import sizes
from bertxfer.report.subject import Subject
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system import environment
from bertxfer.system.files import refuse_links, write_text

_HERE = Path(__file__).parent
# What the bundle of Vega makes available to the page's script.
_GLOBALS = "window.vegaEmbed = vegaEmbed;"


@dataclass(frozen=True)
class Shown:
    """A figure on the page: drawn, or only a title with what was published."""

    title: str
    awaited: bool  # a chart belongs here, drawn or not yet
    drawn: Drawing | None
    published: published.Published | None
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


def write(subject: Subject) -> Path:
    """Writes reports/<name>/index.html, its figures and its tables; the results themselves are only read."""
    results = frame.frame(subject.points, subject.store, subject.unneeded)
    folder = subject.store.root / "reports" / subject.name
    for part in ("figures", "tables"):
        refuse_links(subject.store.root, "reports", subject.name, part)
    folder.mkdir(parents=True, exist_ok=True)
    figures = blocks.figures_of(subject.block or blocks.guess(results), subject.typed)
    dashed = [_dashed(figure, subject) for figure in figures]
    shown = [_shown(figure, i, results, dashed[i], subject, folder) for i, figure in enumerate(figures)]
    shown = [one for one in shown if one.awaited or one.published]
    made = _tables(figures, results, dashed, subject, folder)
    path = folder / "index.html"
    write_text(path, _page(subject, results, shown, made))
    return path


def _shown(
    figure: Figure, index: int, results: pd.DataFrame, dashed: pd.DataFrame | None, subject: Subject, folder: Path
) -> Shown:
    name = subject.titled(figure.title)
    drawn = drawing.draw(figure, results, subject.store, name, dashed)
    title = drawn.title if drawn else f"{name} · {', '.join(drawing.models(results))}"
    files = drawn.write(folder / "figures", f"figure-{index + 1}") if drawn else []
    printed = published.find(subject.experiment, figure.published) if index == 0 or figure.published else None
    return Shown(
        title,
        KINDS[figure.kind].chart is not None,
        drawn,
        printed,
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
) -> list[tuple[tables.Table, list[str]]]:
    """Every table that the figures ask for, once, with its files."""
    written = []
    for i, figure in enumerate(figures):
        for made in tables.make(results, figure, subject.store, dashed[i]):
            # Several figures of one experiment may ask for tables of the same name.
            target = folder / "tables" / (str(i + 1) if len(figures) > 1 else "")
            paths = printing.write([made], target)
            written.append((made, [path.relative_to(folder).as_posix() for path in paths]))
    return written


def _page(
    subject: Subject, results: pd.DataFrame, shown: list[Shown], made: list[tuple[tables.Table, list[str]]]
) -> str:
    counts, card = frame.completeness(results), scorecard.of(subject)
    differs, settings = contents.settings(results, subject.defaults())
    findings = [contents.findings(table) for table, _ in made]
    revision, dirty = environment.revision()
    return _template().render(
        name=subject.name,
        title=f"{subject.titled()} · {', '.join(drawing.models(results))}",
        description=_sentence(subject.description),
        models=drawing.models(results),
        demonstration=MINI_NOTE if drawing.is_demonstration(results) else None,
        completeness=str(counts),
        shares=contents.shares(counts),
        progress=contents.progress(results),
        missing=contents.in_state(results, "missing"),
        missing_count=counts.missing,
        not_needed=counts.not_needed,
        failures=contents.in_state(results, "failed"),
        undefined=contents.in_state(results, "undefined"),
        undefined_count=counts.undefined,
        filters=_filters(results),
        claims=contents.claims(card),
        claims_summary=card.summary,
        claims_left_out=card.left_out,
        figures=shown,
        tables=[{**vars(contents.table(t)), "title": t.title, "note": t.note, "files": files} for t, files in made],
        findings=[{"summary": one[0], "lines": one[1]} for one in findings if one],
        axes=contents.axes(subject.points),
        differs=differs,
        settings=settings,
        commands=subject.commands,
        versions=contents.versions(results.loc[results["state"] == "done", "id"], subject.store),
        written=time.strftime("%Y-%m-%d %H:%M %Z"),
        version=__version__,
        revision=f"{revision}{' (changed)' if dirty else ''}" if revision else None,
        css=Markup(_read("page.css")),
        js=Markup(_read("page.js")),
        vega=Markup(vl_convert.javascript_bundle(_GLOBALS).replace("</script", "<\\/script")),
        specs=Markup(_json([figure.drawn.spec if figure.drawn else None for figure in shown])),
    )


def _filters(results: pd.DataFrame) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """What can be chosen on the page: tasks and sizes, where there is more than one."""
    tasks = [(str(task), words.task(str(task))) for task in dict.fromkeys(results["task"])]
    amounts = [(size, size) for size in dict.fromkeys(sizes(results))]
    filters = [("task", "Task", tasks), ("size", "Data", amounts)]
    return [entry for entry in filters if len(entry[2]) > 1]


def _sentence(text: str | None) -> str | None:
    return f"{text[:1].upper()}{text[1:].rstrip('. ')}." if text else None


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _template() -> jinja2.Template:
    """Escapes everything that is put in, unless it is ours and marked so."""
    return jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(_read("page.html"))
