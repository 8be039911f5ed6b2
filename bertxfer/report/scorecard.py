"""The scorecard: what an experiment claims, what its paper prints, and what the stored rounds say of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from bertxfer.claims import words as said
from bertxfer.claims.claim import Claim
from bertxfer.claims.progress import Decision
from bertxfer.claims.verdict import HOLDS, UNDECIDED
from bertxfer.report import words
from bertxfer.report.subject import Subject
from bertxfer.sweeps.claiming import decisions
from bertxfer.sweeps.readings import values_in
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.trials.pretrained import DEMONSTRATION


@dataclass(frozen=True)
class Entry:
    """A claim with what is decided on each of its cases."""

    claim: Claim
    decisions: list[Decision]

    @property
    def sentence(self) -> str:
        return f"{self.claim.says[:1].upper()}{self.claim.says[1:].rstrip('. ')}."


@dataclass(frozen=True)
class Scorecard:
    """The claims of one experiment on one set of points."""

    name: str
    sweep: str
    entries: list[Entry]
    left_out: list[str]  # claims that are about no trial of it
    is_known: bool  # whether the experiment is here, which alone says what is claimed
    demonstration: bool

    @property
    def decisions(self) -> list[Decision]:
        return [decision for entry in self.entries for decision in entry.decisions]

    @property
    def summary(self) -> str:
        return said.summary(self.decisions)

    def as_list(self) -> list[dict[str, Any]]:
        """For programs."""
        whose = {"experiment": self.name, "sweep": self.sweep}
        return [
            {**whose, **said.as_dict(decision, entry.claim.says, entry.claim.published)}
            for entry in self.entries
            for decision in entry.decisions
        ]


def of(subject: Subject) -> Scorecard:
    """What the claims of a subject come to, from the store as it is now."""
    trials = (point.trial for point in subject.points)
    decided = decisions(subject.cases, values_in(subject.store, trials))
    by_claim = {claim.name: [one for one in decided if one.case.claim == claim.name] for claim in subject.claims}
    entries = [Entry(claim, by_claim[claim.name]) for claim in subject.claims if by_claim[claim.name]]
    left_out = [claim.name for claim in subject.claims if not by_claim[claim.name]]
    demonstration = is_demonstration(subject)
    return Scorecard(subject.titled(), subject.name, entries, left_out, subject.is_known, demonstration)


def is_demonstration(subject: Subject) -> bool:
    return any(point.trial.science.model.name == DEMONSTRATION for point in subject.points)


COLUMNS = ["for", "here", "interval", "verdict"]


def rows(entry: Entry) -> list[list[str]]:
    """A row for each case: what it is asked for, its effect and interval, and the verdict."""
    return [[_place(one) or "all", said.effect(one), said.interval(one), said.verdict(one)] for one in entry.decisions]


def show(scorecards: Sequence[Scorecard], console: Console) -> None:
    """For a terminal: a table for each experiment."""
    if not scorecards:
        console.print("none of the sweeps that are stored here has claims", soft_wrap=True)
    for card in scorecards:
        if not card.is_known:
            words = f"{card.sweep}: the experiment {card.name} is not here, so what it claims is not known"
            console.print(f"{words}; --config-dir FOLDER says where it is", soft_wrap=True)
            continue
        table = Table("claim", *COLUMNS, title=f"{card.name} ({card.sweep})", show_lines=False)
        for entry in card.entries:
            for i, row in enumerate(rows(entry)):
                table.add_row(entry.sentence if i == 0 else "", *row)
            table.add_section()
        if card.entries:
            console.print(table)
            console.print(card.summary, soft_wrap=True)
        if card.left_out:
            console.print(f"{card.sweep}: about none of its trials: {', '.join(card.left_out)}", soft_wrap=True)
        if card.demonstration:
            console.print(MINI_NOTE, soft_wrap=True)


def status(scorecards: Sequence[Scorecard]) -> int:
    """An exit status: 1 if a claim is decided and does not hold; 3 if none is, but one is undecided, or not known."""
    verdicts = [decision.verdict for card in scorecards for decision in card.decisions]
    if any(one.is_decided and one.verdict != HOLDS for one in verdicts):
        return 1
    unknown = any(card.left_out or not card.is_known for card in scorecards)
    return 3 if unknown or any(one.verdict == UNDECIDED for one in verdicts) else 0


def _place(decision: Decision) -> str:
    """In the words of figures."""
    told = (words.named(name, words.value(name, value)) for name, value in decision.case.place.items())
    return ", ".join(told)
