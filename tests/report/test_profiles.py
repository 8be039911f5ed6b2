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


def test_the_interval_of_two_seeds_is_that_of_the_four_resamples() -> None:
    """Seed 0 agrees wholly, seed 1 not at all, both together give the third number: 1/4, 1/4 and 1/2 of the draws."""
    others = np.array([[1.0, 2.0, 3.0]] * 2)
    some = np.array([[0.0, 1.0, 2.0], [9.0, 5.0, 0.0]])  # means 4.5, 3, 1: falling
    drawn = draws(2, np.random.default_rng(0))
    found = agreement(some, others, (drawn, drawn))
    assert found.value == pytest.approx(-1.0)
    assert (found.low, found.high) == (pytest.approx(-1.0), pytest.approx(1.0))
    assert (found.drawn > 0).mean() == pytest.approx(1 / 4, abs=4 * math.sqrt(3 / 16 / 10_000))
    same = found.minus(found)
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_one_seed_has_no_interval_and_five_make_no_claim() -> None:
    line = np.array([[1.0, 2.0, 3.0, 4.0]])
    one = agreement(line, np.repeat(line, 8, axis=0), [draws(n, np.random.default_rng(0)) for n in (1, 8)])
    assert one.value == pytest.approx(1.0) and math.isnan(one.low) and math.isnan(one.high)
    assert in_words(one, 1) == "rank correlation 1.00 in 1 seed: too few for a claim"
    assert "too few" in in_words(one, 5) and "too few" not in in_words(one, 6)


def test_seeds_are_drawn_with_replacement() -> None:
    drawn = draws(5, np.random.default_rng(0), resamples=4000)
    assert (drawn.sum(axis=1) == 5).all()
    left_out = (1 - 1 / 5) ** 5
    assert (drawn == 0).mean() == pytest.approx(left_out, abs=0.02)
