"""Profiles over layers and how well they agree, against scipy and counts by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertxfer.report.profiles import agreement, draws, in_words, over_the_same, profile, rank_correlations


def test_a_profile_has_a_line_for_each_seed_and_gaps_where_there_is_no_score() -> None:
    trials = pd.DataFrame({"seed": [0, 0, 1, 1, 1], "k": [1, 2, 1, 2, 2], "y": [0.1, 0.2, 0.3, 0.4, 0.6]})
    found = profile(trials, "k", "y")
    assert found.to_numpy().tolist() == [pytest.approx([0.1, 0.2]), pytest.approx([0.3, 0.5])]
    other = profile(pd.DataFrame({"seed": [0, 1], "k": [2, 3], "y": [0.1, math.nan]}), "k", "y")
    assert [list(one.columns) for one in over_the_same(found, other)] == [[2], [2]]


def test_rank_correlations_are_scipys_line_by_line() -> None:
    rng = np.random.default_rng(0)
    some, others = rng.integers(0, 5, (20, 12)) / 7, rng.normal(size=(20, 12))  # with ties
    expected = [stats.spearmanr(a, b).statistic for a, b in zip(some, others, strict=True)]
    assert rank_correlations(some, others) == pytest.approx(expected)
    flat, gap = np.full((1, 4), 0.5), np.array([[0.1, math.nan, 0.2, 0.3]])
    assert np.isnan(rank_correlations(flat, np.arange(4.0)[None])).all()
    assert np.isnan(rank_correlations(gap, np.arange(4.0)[None])).all()
    # 0.1 + 0.2 is not 0.3 in the last bit, and no higher rank.
    assert rank_correlations(np.array([[0.3, 0.1 + 0.2, 1.0]]), np.array([[1.0, 1.0, 2.0]])) == pytest.approx([1.0])


def test_an_agreement_is_of_means_over_seeds_and_leaves_gaps_out() -> None:
    some = np.array([[0.1, 0.9, 0.3, 0.4], [0.3, math.nan, 0.7, 0.2]])  # means 0.2, 0.9, 0.5, 0.3
    others = np.array([[1.0, 2.0, 3.0, 4.0]] * 2)
    drawn = draws(2, np.random.default_rng(0))
    found = agreement(some, others, (drawn, drawn))
    assert found.value == pytest.approx(stats.spearmanr([0.2, 0.9, 0.5, 0.3], [1, 2, 3, 4]).statistic)
    assert math.isnan(agreement(some[:, :2], others[:, :2], (drawn, drawn)).value)  # two are always in line


def test_the_resamples_of_six_seeds_are_binomial() -> None:
    """Three seeds rise and three fall as steeply: at least four of six that rise are 22 of 64 draws, three are flat."""
    some = np.array([[0.0, 1.0, 2.0]] * 3 + [[2.0, 1.0, 0.0]] * 3)
    drawn = draws(6, np.random.default_rng(0))
    found = agreement(some, np.array([[1.0, 2.0, 3.0]] * 6), (drawn, drawn))
    assert math.isnan(found.value) and (found.low, found.high) == (pytest.approx(-1.0), pytest.approx(1.0))
    for share, happened in ((22, found.drawn > 0), (22, found.drawn < 0), (20, np.isnan(found.drawn))):
        assert happened.mean() == pytest.approx(share / 64, abs=0.02)  # four standard errors of 10,000 draws
    same = found.minus(found)
    assert (same.low, same.high) == (0.0, 0.0)


def test_an_interval_covers_the_truth_in_nine_of_ten_cases() -> None:
    """Twelve layers that differ twice as much as seeds do, eight seeds of both."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(200):
        one = rng.normal(size=12)
        other = 0.6 * one + 0.8 * rng.normal(size=12)
        seen = [true + 0.5 * rng.normal(size=(8, 12)) for true in (one, other)]
        found = agreement(*seen, [draws(8, rng, 1000) for _ in seen])
        hits += found.low <= stats.spearmanr(one, other).statistic <= found.high
    assert hits / 200 == pytest.approx(0.9, abs=4 * math.sqrt(0.9 * 0.1 / 200))


def test_fewer_than_six_seeds_have_no_interval_and_make_no_claim() -> None:
    line = np.array([[1.0, 2.0, 3.0, 4.0]])
    for seeds in (1, 5, 6):
        drawn = [draws(n, np.random.default_rng(0)) for n in (seeds, 8)]
        found = agreement(np.repeat(line, seeds, axis=0), np.repeat(line, 8, axis=0), drawn)
        assert found.value == pytest.approx(1.0) and math.isnan(found.low) == (seeds < 6)
        assert ("too few for a claim" in in_words(found, seeds)) == (seeds < 6)
    nothing = agreement(line[:, :2], line[:, :2], drawn)
    assert in_words(nothing, 6).startswith("no correlation is defined: it needs three places")


def test_seeds_are_drawn_with_replacement() -> None:
    drawn = draws(5, np.random.default_rng(0), resamples=4000)
    assert (drawn.sum(axis=1) == 5).all()
    left_out = (1 - 1 / 5) ** 5
    assert (drawn == 0).mean() == pytest.approx(left_out, abs=0.02)
