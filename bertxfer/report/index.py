"""The pages over several reports: an index of all that is stored, and one page for everything of a paper."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertxfer.report import contents, drawing, frame, page, rendering, scorecard
from bertxfer.report.highlights import Highlight, highlights
from bertxfer.report.page import Made, Shown, sentence
from bertxfer.report.scorecard import Scorecard
from bertxfer.report.subject import Subject
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import refuse_links, write_text


@dataclass(frozen=True)
class Part:
    """One sweep on a page of several."""

    name: str
    title: str
    description: str | None
    link: str
    complete: str
    shares: list[tuple[str, float]]
    verdicts: str
    card: list[Highlight]
    shown: list[Shown]


def write_all(subjects: Sequence[Subject], root: Path) -> Path:
    """Every report, and reports/index.html, which lists them."""
    parts = [_part(page.write_whole(subject), "") for subject in subjects]
    path = root / "reports" / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, rendering.render("index.html", name="all reports", title="All reports", parts=parts))
    return path


def write_paper(paper: str, subjects: Sequence[Subject], not_run: Sequence[str], root: Path) -> Path:
    """reports/<paper>/index.html: the claims and figures of every experiment of a paper that was run."""
    refuse_links(root, "reports", paper)
    made = [page.write_whole(subject) for subject in subjects]
    parts = [_part(one, f"{one.subject.name}-") for one in made]
    specs = [shown.drawn.spec if shown.drawn else None for one in made for shown in one.shown]
    path = root / "reports" / paper / "index.html"
    path.parent.mkdir(parents=True, exist_ok=True)
    demonstration = any(drawing.is_demonstration(one.results) for one in made)
    text = rendering.render(
        "paper.html",
        specs,
        name=paper,
        title=paper,
        parts=parts,
        not_run=list(not_run),
        demonstration=MINI_NOTE if demonstration else None,
    )
    write_text(path, text)
    return path


def _part(made: Made, prefix: str) -> Part:
    subject, counts, card = made.subject, frame.completeness(made.results), scorecard.of(made.subject)
    return Part(
        subject.name,
        f"{subject.titled()} · {', '.join(drawing.models(made.results))}",
        sentence(subject.description),
        f"{subject.name}/index.html" if not prefix else f"../{subject.name}/index.html",
        str(counts),
        contents.shares(counts),
        _verdicts(card),
        highlights(card, [one.figure if one.drawn else None for one in made.shown], prefix),
        [_linked(one, subject.name) for one in made.shown] if prefix else made.shown,
    )


def _linked(shown: Shown, name: str) -> Shown:
    """With its files where the sweep's own report has them."""
    return dataclasses.replace(shown, files=[f"../{name}/{file}" for file in shown.files])


def _verdicts(card: Scorecard) -> str:
    return card.summary if card.entries else "no claims about these trials"
