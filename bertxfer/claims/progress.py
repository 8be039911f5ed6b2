"""How far a case is: its whole rounds one after another, each looked at once."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bertxfer.claims.case import Case, Reading
from bertxfer.claims.claim import DIFFERENCE, EXTREME
from bertxfer.claims.numbers import concordant, correlation_of, number_of, places_of, step_of
from bertxfer.claims.verdict import (
    FEWEST,
    LESS,
    MORE,
    Question,
    Verdict,
    rounds_for_a_spread,
    verdict,
    verdict_on_places,
)


@dataclass(frozen=True)
class Value:
    """What a reading says: a number, NaN if it is not defined, and the step in which such numbers come."""

    number: float
    step: float = 0.0


ValueOf = Callable[[Reading], Value | None]  # None: the trial is not done


@dataclass(frozen=True)
class Decision:
    """What the whole rounds of a case say, up to the first that is not whole."""

    case: Case
    verdict: Verdict
    numbers: tuple[float, ...]  # one a round; a round without a defined score has none
    rounds: tuple[int, ...]  # the seeds of the whole rounds
    decided_after: int | None  # rounds

    @property
    def undefined(self) -> int:
        return len(self.rounds) - len(self.numbers) - self.case.is_concordance


class Progress:
    """Takes in whole rounds as they come. What is decided by one of them stays decided."""

    def __init__(self, case: Case, level: float) -> None:
        self.case, self._level = case, level
        self._rows: list[list[float]] = []
        self._numbers: list[tuple[int, float]] = []  # each with how many rounds were whole with it
        self._step = 0.0
        self._decision: Decision | None = None

    def advance(self, value_of: ValueOf) -> None:
        """Takes in the rounds that have become whole."""
        for _, cells in self.case.rounds[len(self._rows) :]:
            known: list[list[Value]] = []
            for cell in cells:
                known.append([])
                for reading in cell.readings:
                    if (value := value_of(reading)) is None:
                        return  # one is enough to know, and each takes a look at the disk
                    known[-1].append(value)
            if not self._rows:  # that of the first round holds for all, or a later one could change what was decided
                self._step = max(value.step for of_cell in known for value in of_cell)
            self._rows.append([sum(value.number for value in of_cell) / len(of_cell) for of_cell in known])
            self._decision = None

    def decision(self) -> Decision:
        if self._decision is None:
            numbers = self._defined()
            said = self._verdict([number for _, number in numbers])
            if self.case.kind not in (DIFFERENCE, EXTREME):  # a rank correlation
                said = replace(said, low=max(said.low, -1.0), high=min(said.high, 1.0))
            after = None if said.decided_after is None else numbers[said.decided_after - 1][0]
            rounds = tuple(number for number, _ in self.case.rounds[: len(self._rows)])
            self._decision = Decision(self.case, said, tuple(number for _, number in numbers), rounds, after)
        return self._decision

    def needs(self, round_number: int) -> bool | None:
        """Whether a round's trials are needed: the rounds before it leave the case undecided. None: they are not all
        there to tell."""
        before = self._before(round_number)
        decided = self.decision().decided_after
        if decided is not None:
            return decided > before
        return True if before <= max(len(self._rows), FEWEST - 1 + self.case.is_concordance) else None

    def is_foreseen(self, round_number: int) -> bool:
        """Whether a round's trials will be needed if rounds go on as they are; while there are too few to tell, if the
        effect is as large as its spread."""
        decision = self.decision()
        if decision.decided_after is not None:
            last = decision.decided_after
        elif len(decision.numbers) < 2:
            last = rounds_for_a_spread(self._level) + self.case.is_concordance
        else:
            needed = decision.verdict.needed
            last = len(self.case.rounds) if needed is None else len(self._rows) + needed
        return self._before(round_number) < last

    def next_readings(self, before: int) -> list[Reading]:
        """The readings of the first round that is not whole, if it comes before a round."""
        rounds = self.case.rounds[len(self._rows) : len(self._rows) + 1]
        return [reading for number, cells in rounds if number < before for cell in cells for reading in cell.readings]

    def _verdict(self, numbers: Sequence[float]) -> Verdict:
        question = Question(self.case.wants, self.case.margin, step_of(self.case, self._step), self._level)
        if self.case.kind == EXTREME:
            defined = [row for row in self._rows if not any(math.isnan(value) for value in row)]
            inside, outside = places_of(self.case, defined)
            if question.wants != LESS:
                return verdict_on_places(inside, outside, question)
            return verdict_on_places(inside, outside, replace(question, wants=MORE)).turned()
        said = verdict(numbers, question)
        if self.case.is_concordance and numbers:  # the interval is that of the products, which are near it
            said = replace(said, effect=correlation_of(self._rows))
        return said

    def _before(self, round_number: int) -> int:
        return sum(number < round_number for number, _ in self.case.rounds)

    def _defined(self) -> list[tuple[int, float]]:
        if self.case.is_concordance:
            numbers = concordant(self._rows)
        else:
            numbers = [(i, number_of(self.case, row)) for i, row in enumerate(self._rows, start=1)]
        return [(after, number) for after, number in numbers if number == number]


def decide(case: Case, level: float, value_of: ValueOf) -> Decision:
    """The decision on a case at its share of the level, as far as its rounds are whole."""
    progress = Progress(case, level)
    progress.advance(value_of)
    return progress.decision()
