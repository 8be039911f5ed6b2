"""The findings that a page begins with: each claim in a row, with what the paper prints, what is found, the verdict."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bertxfer.claims import words as said
from bertxfer.claims.progress import Decision
from bertxfer.claims.verdict import HOLDS, NO_DIFFERENCE, OPPOSITE, UNDECIDED
from bertxfer.report import scorecard
from bertxfer.report.figure import Figure
from bertxfer.report.scorecard import Entry, Scorecard

LISTED = 6  # cases of a claim that stand in its row
_ORDER = (HOLDS, OPPOSITE, NO_DIFFERENCE, UNDECIDED)


@dataclass(frozen=True)
class Case:
    place: str
    effect: str
    interval: str
    task: str | None


@dataclass(frozen=True)
class Verdict:
    kind: str  # as a class of the page
    words: str


@dataclass(frozen=True)
class Highlight:
    """A claim of the page."""

    sentence: str
    published: str | None
    here: list[Case]
    verdicts: list[Verdict]
    figure: str | None  # the anchor of the figure that shows it


def highlights(card: Scorecard, figures: Sequence[Figure | None], prefix: str = "") -> list[Highlight]:
    """One for each claim; `figures` are those of the page, None where one is not drawn."""
    return [
        Highlight(
            entry.sentence,
            entry.claim.published,
            _here(entry),
            _verdicts(entry.decisions),
            _shown(entry, figures, prefix),
        )
        for entry in card.entries
    ]


def _here(entry: Entry) -> list[Case]:
    told = [_case(entry, one, row) for one, row in zip(entry.decisions, scorecard.rows(entry), strict=True)]
    if len(told) <= LISTED:
        return told
    whole = [one for one in entry.decisions if one.numbers]
    effects = sorted(whole, key=lambda one: one.verdict.effect)
    span = f"{said.effect(effects[0])} to {said.effect(effects[-1])}" if effects else "-"
    return [Case(f"{len(told)} cases", span, "-", None)]


def _case(entry: Entry, decision: Decision, row: list[str]) -> Case:
    place, effect, interval, _ = row
    task = decision.case.place.get("task")
    return Case("" if len(entry.decisions) == 1 and place == "all" else place, effect, interval, task)


def _verdicts(decisions: Sequence[Decision]) -> list[Verdict]:
    counts = Counter(one.verdict.verdict for one in decisions)
    one = len(decisions) == 1
    return [
        Verdict(verdict.replace(" ", "-"), said.verdict(decisions[0]) if one else f"{verdict}: {counts[verdict]}")
        for verdict in _ORDER
        if counts[verdict]
    ]


def _shown(entry: Entry, figures: Sequence[Figure | None], prefix: str) -> str | None:
    """The first figure that its tasks are in."""
    tasks = {str(one.case.place["task"]) for one in entry.decisions if "task" in one.case.place}
    for number, figure in enumerate(figures, start=1):
        if figure is None:
            continue
        wanted = figure.where.get("task")
        only = {wanted} if isinstance(wanted, str) else set(wanted or ())
        if not only or not tasks or tasks & only:
            return f"{prefix}figure-{number}"
    return None
