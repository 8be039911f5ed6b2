"""What the numbers of an experiment's rounds say of a claim, and from which round on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertxfer.claims.evidence import Array, half_widths, sequences

HOLDS, OPPOSITE = "holds", "the opposite holds"
NO_DIFFERENCE, UNDECIDED = "no difference that matters", "undecided"
MORE, LESS, SAME, NOT_MORE = "more", "less", "same", "not more"
LEVEL = 0.05  # of all claims of an experiment together: how often one at most is decided wrongly
FEWEST = 6  # rounds; before that nothing is decided, however clear it seems
_MOST = 1000  # rounds that are looked ahead


@dataclass(frozen=True)
class Question:
    """What is asked of a claim's numbers: are they `more` than 0, `less`, the `same` within the margin, or `not more`
    than that?"""

    wants: str
    margin: float  # what matters, in the unit of the numbers
    resolution: float = 0.0  # the smallest step of the numbers
    level: float = LEVEL  # this claim's share of it


@dataclass(frozen=True)
class Verdict:
    verdict: str
    rounds: int  # that there are numbers of
    decided_after: int | None  # the round with which it was decided; later ones take nothing back
    effect: float
    low: float
    high: float
    needed: int | None  # rounds still needed if the effect and the spread stay as they are; None: not to be foreseen

    def turned(self) -> "Verdict":
        """The same, of numbers whose signs are turned round."""
        return replace(self, effect=-self.effect, low=-self.high, high=-self.low)

    @property
    def is_decided(self) -> bool:
        return self.decided_after is not None


def verdict(numbers: Sequence[float], question: Question) -> Verdict:
    """The verdict on the numbers of whole rounds in their order. It is that of the first round that decides."""
    if not len(numbers):
        return Verdict(UNDECIDED, 0, None, math.nan, -math.inf, math.inf, None)
    values = np.asarray(numbers, dtype=float)
    low, high = sequences(values, question.level, question.resolution)
    return _verdict(low, high, float(values.mean()), question, [values])


def verdict_on_places(inside: Array, outside: Array, question: Question) -> Verdict:
    """The verdict on whether the place with the largest mean is inside; a row for each place, a column for each round.

    The difference of the two largest scores of each round would not do: under noise alone the larger of two sets has
    the larger maximum. So each place inside is compared with each one outside. One of those outside is the largest, and
    the interval against it is wrong for none of those inside, but at a share of the level for each; the same from the
    other side.
    """
    if not inside.shape[1]:
        return verdict([], question)
    pair = replace(question, level=question.level / max(len(inside), len(outside)))
    differences = inside[:, None, :] - outside[None, :, :]
    lows, highs = sequences(differences, pair.level, pair.resolution)
    best, other = int(inside.mean(axis=1).argmax()), int(outside.mean(axis=1).argmax())
    effect = float(inside[best].mean() - outside[other].mean())
    decisive = list(differences[best]) if effect > 0 else list(differences[:, other])
    return _verdict(lows.min(axis=1).max(axis=0), highs.max(axis=0).min(axis=0), effect, question, decisive, pair)


def _verdict(
    low: Array, high: Array, effect: float, question: Question, series: Sequence[Array], of: Question | None = None
) -> Verdict:
    """From the interval after each round; `series` are the numbers all of which must decide, and `of` their level."""
    codes = verdicts(low, high, question)
    decided = np.flatnonzero(codes)
    after = int(decided[0]) + 1 if len(decided) else None
    said = UNDECIDED if after is None else _NAMES[int(codes[after - 1])]
    needed = None
    if after is None:
        all_needed = [_needed(values, of or question) for values in series]
        known = [one for one in all_needed if one is not None]
        needed = max(known) if len(known) == len(all_needed) else None
    return Verdict(said, len(low), after, effect, float(low[-1]), float(high[-1]), needed)


def share(claims: int) -> float:
    """The level of each of several claims: Bonferroni's, so that deciding one needs no look at the others."""
    return LEVEL / max(1, claims)


_NAMES = {0: UNDECIDED, 1: HOLDS, 2: OPPOSITE, 3: NO_DIFFERENCE}


def verdicts(low: Array, high: Array, question: Question) -> Array:
    """For each interval, the index of its verdict in _NAMES; intervals of the first rounds, along the last axis, decide
    nothing."""
    within = (low > -question.margin) & (high < question.margin)
    if question.wants == SAME:
        apart = (low > question.margin) | (high < -question.margin)
        codes = np.where(within, 1, np.where(apart, 2, 0))
    elif question.wants == NOT_MORE:
        codes = np.where(high < question.margin, 1, np.where(low > question.margin, 2, 0))
    else:
        above, below = (low > 0, high < 0) if question.wants == MORE else (high < 0, low > 0)
        codes = np.where(within, 3, np.where(above, 1, np.where(below, 2, 0)))
    codes[..., : FEWEST - 1] = 0
    return codes


def rounds_for_a_spread(level: float) -> int:
    """The rounds that decide on an effect as large as its own spread: what is foreseen where nothing is known."""
    decided = _decided_after(1.0, 1.0, 0, Question(MORE, 0.0, level=level))
    assert decided is not None
    return decided


def _needed(values: Array, question: Question) -> int | None:
    """How many more rounds decide if mean and spread stay as they are."""
    if len(values) < 2:
        return None
    spread = math.sqrt(float(values.var(ddof=1)) + question.resolution**2 / 6)
    decided = _decided_after(float(values.mean()), spread, len(values), question)
    return None if decided is None else decided - len(values)


def _decided_after(mean: float, spread: float, rounds: int, question: Question) -> int | None:
    """The first number of rounds beyond these that decides, with that mean and spread; none within reach."""
    n = np.arange(rounds + 1, rounds + _MOST + 1)
    half = half_widths(n, np.full(len(n), spread), question.level)
    padded = [
        np.concatenate([np.full(FEWEST, worst), end]) for worst, end in ((-np.inf, mean - half), (np.inf, mean + half))
    ]
    decided = np.flatnonzero(verdicts(padded[0], padded[1], question)[FEWEST:])
    return max(int(n[decided[0]]), FEWEST) if len(decided) else None
