"""Verdicts on claims: right as often as they say, however often one looks."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from bertxfer.claims.evidence import PRIOR, Array, bayes_factor, interval, sequences
from bertxfer.claims.verdict import (
    FEWEST,
    HOLDS,
    LESS,
    LEVEL,
    MORE,
    NO_DIFFERENCE,
    NOT_MORE,
    OPPOSITE,
    SAME,
    UNDECIDED,
    Question,
    share,
    verdict,
    verdict_on_places,
    verdicts,
)

SWEEPS, ROUNDS, DEV_ROWS = 10_000, 50, 300


@pytest.mark.parametrize("n", [2, 5, 20])
@pytest.mark.parametrize("t", [0.0, 1.5, -4.0])
def test_the_bayes_factor_is_the_integral_that_it_stands_for(t: float, n: int) -> None:
    def likelihood(effect: float) -> float:
        prior = stats.norm.pdf(effect, scale=math.sqrt(PRIOR))
        return float(stats.nct.pdf(t, n - 1, effect * math.sqrt(n)) * prior)

    marginal, _ = integrate.quad(likelihood, -8, 8, limit=200)
    assert bayes_factor(t, n) == pytest.approx(marginal / stats.t.pdf(t, n - 1), rel=1e-3)


def test_the_interval_is_what_the_bayes_factor_does_not_reject() -> None:
    numbers = np.random.default_rng(0).normal(0.4, 1.0, 12)
    low, high = interval(list(numbers), 0.05, 0.0)
    for edge in (low, high):
        t = (numbers.mean() - edge) / (numbers.std(ddof=1) / math.sqrt(12))
        assert bayes_factor(t, 12) == pytest.approx(1 / 0.05)
    assert interval([1.0, 2.0], 0.05, 0.0) == (-math.inf, math.inf)  # two numbers cannot tell
    assert interval([], 0.05, 0.0) == (-math.inf, math.inf)


def draws(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Scores without any true difference, in units of their spread."""
    if kind == "normal":
        return rng.normal(size=shape)
    if kind == "heavy-tailed":
        return rng.standard_t(3, size=shape) / math.sqrt(3)
    return rng.binomial(DEV_ROWS, 0.8, size=shape) / math.sqrt(DEV_ROWS * 0.8 * 0.2)


@pytest.mark.parametrize("kind", ["normal", "heavy-tailed", "accuracy-like"])
def test_without_a_difference_few_experiments_claim_one_however_often_one_looks(kind: str) -> None:
    """Five treatments against one baseline, whose noise they share, looked at after each of fifty rounds."""
    rng = np.random.default_rng(1)
    claims = 5
    scores = draws(kind, (SWEEPS, claims + 1, ROUNDS), rng)
    differences = scores[:, 1:] - scores[:, :1]
    resolution = 1 / math.sqrt(DEV_ROWS * 0.8 * 0.2) if kind == "accuracy-like" else 0.0
    question = Question(MORE, margin=0.0, resolution=resolution, level=share(claims))
    codes = verdicts(*sequences(differences, question.level, resolution), question)
    wrong = (codes > 0).any(axis=(1, 2)).mean()
    assert 0 < wrong <= LEVEL
    # A t-test after every round is wrong more often than it says, so that these draws can tell.
    n = np.arange(1, ROUNDS + 1)[FEWEST:]
    mean = (np.cumsum(differences, -1) / np.arange(1, ROUNDS + 1))[..., FEWEST:]
    spread = np.sqrt((np.cumsum(differences**2, -1)[..., FEWEST:] - n * mean**2) / (n - 1))
    naive = np.abs(mean) * np.sqrt(n) / spread > stats.t.ppf(1 - share(claims) / 2, n - 1)
    assert naive.any(axis=(1, 2)).mean() > 2 * LEVEL


@pytest.mark.parametrize(("effect", "least", "most_rounds"), [(0.5, 0.5, 40), (1.0, 0.99, 20), (2.0, 1.0, 9)])
def test_differences_are_found_and_rounds_are_saved(effect: float, least: float, most_rounds: float) -> None:
    """Beside fifty rounds whatever they say; a t-test of fifty finds half a standard deviation 93 times of 100."""
    numbers = np.random.default_rng(2).normal(effect, 1.0, (SWEEPS, ROUNDS))
    question = Question(MORE, margin=0.0)
    codes = verdicts(*sequences(numbers, question.level, 0.0), question)
    decided = (codes > 0).any(axis=1)
    first = np.where(decided, codes.argmax(axis=1), ROUNDS - 1)
    right = np.take_along_axis(codes, first[:, None], 1)[decided, 0] == 1
    used = np.where(decided, (codes > 0).argmax(axis=1) + 1, ROUNDS).mean()
    print(f"effect {effect}: decided {decided.mean():.3f}, right {right.mean():.4f}, rounds {used:.1f}")
    assert decided.mean() >= least
    assert right.mean() >= 1 - LEVEL
    assert used <= most_rounds


@pytest.mark.parametrize(("inside", "outside"), [(1, 11), (2, 10), (4, 6), (9, 1)])
def test_no_place_is_called_the_largest_for_its_noise(inside: int, outside: int) -> None:
    """All places are the same, and however many are inside, few sweeps of fifty rounds say where the largest is."""
    rng = np.random.default_rng(3)
    question = Question(MORE, margin=0.0)
    said = [
        verdict_on_places(rng.normal(size=(inside, 50)), rng.normal(size=(outside, 50)), question).verdict
        for _ in range(1000)
    ]
    assert said.count(HOLDS) + said.count(OPPOSITE) <= LEVEL * 1000


@pytest.mark.parametrize(("where", "expected"), [("inside", HOLDS), ("outside", OPPOSITE)])
def test_the_largest_place_is_found_wherever_it_is(where: str, expected: str) -> None:
    """One of ten places is larger by two standard deviations."""
    rng = np.random.default_rng(4)
    wrong, right = {HOLDS, OPPOSITE} - {expected}, 0
    for _ in range(200):
        scores = {"inside": rng.normal(size=(2, 50)), "outside": rng.normal(size=(8, 50))}
        scores[where][0] += 2.0
        said = verdict_on_places(scores["inside"], scores["outside"], Question(MORE, margin=0.1))
        assert said.verdict not in wrong
        right += said.verdict == expected
    assert right >= 190


def test_not_more_is_all_but_clearly_more() -> None:
    question = Question(NOT_MORE, margin=1.0)
    assert verdict([-3.0, -2.0, -4.0, -3.5, -2.5, -3.2, -2.8], question).verdict == HOLDS
    assert verdict([0.1, -0.2, 0.15, -0.1, 0.05, 0.0, -0.05, 0.1], question).verdict == HOLDS
    assert verdict([3.0, 2.0, 4.0, 3.5, 2.5, 3.2, 2.8, 3.1], question).verdict == OPPOSITE


def test_what_numbers_say_of_each_question() -> None:
    rising = [3.0, 2.0, 4.0, 3.5, 2.5, 3.2, 2.8, 3.1]
    assert verdict(rising, Question(MORE, margin=1.0)).verdict == HOLDS
    assert verdict(rising, Question(LESS, margin=1.0)).verdict == OPPOSITE
    assert verdict(rising, Question(SAME, margin=1.0)).verdict == OPPOSITE
    nothing = [0.1, -0.2, 0.15, -0.1, 0.05, 0.0, -0.05, 0.1]
    for wants in (MORE, LESS):
        assert verdict(nothing, Question(wants, margin=1.0)).verdict == NO_DIFFERENCE
    assert verdict(nothing, Question(SAME, margin=1.0)).verdict == HOLDS
    noisy = [5.0, -4.0, 3.0, -6.0, 2.0, 1.0]
    undecided = verdict(noisy, Question(MORE, margin=1.0))
    assert (undecided.verdict, undecided.decided_after) == (UNDECIDED, None)


def test_a_verdict_is_that_of_the_first_round_that_decides_and_stays() -> None:
    clear = [3.0, 2.0, 4.0, 3.5, 2.5, 3.2, 2.8]
    question = Question(MORE, margin=1.0)
    assert verdict(clear[: FEWEST - 1], question).verdict == UNDECIDED
    first = verdict(clear, question).decided_after
    assert first is not None
    for more in range(1, 20):
        later = verdict([*clear, *[-50.0] * more], question)
        assert (later.verdict, later.decided_after) == (HOLDS, first)
    assert later.effect < 0  # what is shown beside it is of all rounds


def test_rounds_still_needed_are_those_that_decide_if_nothing_changes() -> None:
    """Numbers that go on with the same mean and spread are decided after as many more."""
    begun = [2.0, -1.0] * 10
    question = Question(MORE, margin=0.1)
    seen = verdict(begun, question)
    assert seen.verdict == UNDECIDED and seen.needed is not None
    full = np.array(begun * 20)
    codes = verdicts(*sequences(full, question.level, 0.0), question)
    decided = int((codes > 0).argmax()) + 1
    assert len(begun) + seen.needed == pytest.approx(decided, rel=0.15)
    assert verdict([1e-9, -1e-9, 2e-9], Question(MORE, margin=1.0)).needed == FEWEST - 3
    assert verdict([1.0], question).needed is None


def test_equal_numbers_are_rounded_ones_and_not_without_spread() -> None:
    """Six equal differences of some rows: below the margin, and no proof of more than that."""
    step = 100 / DEV_ROWS
    assert verdict([step] * 6, Question(MORE, margin=1.0, resolution=step)).verdict == NO_DIFFERENCE
    low, high = interval([0.0] * 6, 0.05, step)
    assert low < 0 < high
    assert verdict([5 * step] * 8, Question(MORE, margin=1.0, resolution=step)).verdict == HOLDS
