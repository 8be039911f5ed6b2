"""Seeds until it is decided: which rounds a case still needs, whenever it is asked."""

from collections.abc import Mapping

import pytest

from bertxfer.claims.case import Case, Cell, Reading
from bertxfer.claims.claim import CONCORDANT, DIFFERENCE
from bertxfer.claims.progress import Progress, Value, decide
from bertxfer.claims.verdict import FEWEST, HOLDS, MORE, UNDECIDED, rounds_for_a_spread

LEVEL, ROUNDS = 0.05, 30
CLEAR = [3.0, 2.0, 4.0, 3.5, 2.5, 3.2, 2.8, 3.1] * 4


def case(kind: str = DIFFERENCE, rounds: int = ROUNDS) -> Case:
    cells = [
        (number, (Cell(1.0, (Reading(f"treated {number}", "a"),)), Cell(-1.0, (Reading(f"baseline {number}", "a"),))))
        for number in range(rounds)
    ]
    return Case("mine", {}, kind, MORE, 1.0, True, 0.0, tuple(cells))


def scores(differences: Mapping[int, float] | list[float]) -> dict[Reading, Value]:
    pairs = dict(enumerate(differences)) if isinstance(differences, list) else differences
    treated = {Reading(f"treated {number}", "a"): Value(0.5 + value / 100) for number, value in pairs.items()}
    return treated | {Reading(f"baseline {number}", "a"): Value(0.5) for number in pairs}


def test_the_first_rounds_are_needed_whatever_they_say() -> None:
    progress = Progress(case(), LEVEL)
    assert [progress.needs(number) for number in range(FEWEST + 1)] == [True] * FEWEST + [None]


def test_a_round_is_needed_while_those_before_leave_it_undecided() -> None:
    known = scores(CLEAR[:4])
    progress = Progress(case(), LEVEL)
    progress.advance(known.get)
    assert progress.needs(FEWEST - 1) is True and progress.needs(FEWEST) is None
    known |= scores(CLEAR)
    progress.advance(known.get)
    after = progress.decision().decided_after
    assert after is not None and FEWEST <= after < 12
    assert progress.decision().verdict.verdict == HOLDS
    assert [progress.needs(number) for number in range(ROUNDS)] == [number < after for number in range(ROUNDS)]


def test_what_is_needed_is_the_same_however_rounds_come_in() -> None:
    """Trials end in any order, and a round counts when it and those before it are whole."""
    final = decide(case(), LEVEL, scores(CLEAR).get)
    backwards = Progress(case(), LEVEL)
    known: dict[Reading, Value] = {}
    for number in reversed(range(ROUNDS)):
        known |= scores({number: CLEAR[number]})
        backwards.advance(known.get)
        expected = UNDECIDED if number else HOLDS
        assert backwards.decision().verdict.verdict == expected
    assert backwards.decision() == final
    one_by_one = Progress(case(), LEVEL)
    for number in range(ROUNDS):
        known = scores(CLEAR[: number + 1])
        one_by_one.advance(known.get)
        if one_by_one.decision().decided_after is not None:
            assert one_by_one.decision().decided_after == final.decided_after


def test_the_step_of_scores_is_that_of_the_first_round() -> None:
    """Later trials with other dev sets cannot take a decision back."""
    known = scores(CLEAR)
    before = decide(case(), LEVEL, known.get)
    late = {one: Value(value.number, 0.5) if " 2" in one.trial else value for one, value in known.items()}
    assert decide(case(), LEVEL, late.get) == before


def test_what_is_foreseen_of_two_rounds_and_of_none() -> None:
    progress = Progress(case(), LEVEL)
    expected = rounds_for_a_spread(LEVEL)
    assert [progress.is_foreseen(number) for number in range(ROUNDS)] == [number < expected for number in range(ROUNDS)]
    progress.advance(scores([3.0, -3.0, 3.0, -3.0, 3.0, -3.0, 3.0]).get)
    assert progress.is_foreseen(ROUNDS - 1)  # so noisy that all are
    clear = Progress(case(), LEVEL)
    clear.advance(scores(CLEAR[:3]).get)
    last = 3 + (clear.decision().verdict.needed or 0)
    assert FEWEST <= last < ROUNDS / 2
    assert clear.is_foreseen(last - 1) and not clear.is_foreseen(last)


def test_what_is_waited_for_is_the_first_round_that_is_not_whole() -> None:
    progress = Progress(case(), LEVEL)
    known = scores(CLEAR[:6])
    del known[Reading("baseline 4", "a")]
    progress.advance(known.get)
    assert {reading.trial for reading in progress.next_readings(9)} == {"treated 4", "baseline 4"}
    assert progress.next_readings(4) == []


def test_ranks_begin_with_the_second_round() -> None:
    """So six numbers take seven rounds."""
    ranked = Progress(case(CONCORDANT), LEVEL)
    assert ranked.needs(FEWEST) is True and ranked.needs(FEWEST + 1) is None
    known = scores([0.1 * number for number in range(8)])
    ranked.advance(known.get)
    assert ranked.decision().numbers == ()  # the baseline is the same in all rounds: nothing goes together
    known |= {Reading(f"baseline {number}", "a"): Value(0.5 + number / 50) for number in range(8)}
    ranked = Progress(case(CONCORDANT), LEVEL)
    ranked.advance(known.get)
    assert len(ranked.decision().numbers) == 7 and ranked.decision().undefined == 0
    assert ranked.decision().verdict.effect == pytest.approx(1.0)


@pytest.mark.parametrize("whole", [0, 1])
def test_too_few_rounds_say_nothing(whole: int) -> None:
    decision = decide(case(), LEVEL, scores(CLEAR[:whole]).get)
    assert decision.verdict.verdict == UNDECIDED and decision.verdict.needed is None
