"""The share of a benefit: numbers by hand, sets without a bound, and how often a set covers what is true."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from bertxfer.errors import ConfigError
from bertxfer.report import shares
from bertxfer.report.blocks import figures_of
from bertxfer.report.contents import findings
from bertxfer.report.shares import ANYTHING, BOUNDED, HARM, UNBOUNDED, UNKNOWN, fieller
from bertxfer.report.tables import Table, make
from bertxfer.store.store import Store
from tests.helpers.frames import grouped, results

T = {2: 4.302653, 5: 2.570582}  # of a 95% interval, by degrees of freedom, from a printed table
ENDS = {"none": {"treatment_text": "from scratch"}, "full": {"treatment_text": "as pretrained"}}


def accepted(gains: list[float], benefits: list[float], share: float) -> bool:
    """Whether a t-test takes gain - share * benefit for zero: what a set of shares is made of."""
    left = np.array(gains) - share * np.array(benefits)
    return bool(abs(left.mean()) <= T[len(left) - 1] * left.std(ddof=1) / math.sqrt(len(left)))


def test_a_set_has_the_shares_that_a_paired_test_does_not_refuse() -> None:
    gains, benefits = [0.10, 0.14, 0.12, 0.11, 0.15, 0.10], [0.20, 0.25, 0.22, 0.21, 0.27, 0.23]
    found = fieller(gains, benefits)
    assert found.form == BOUNDED and found.share == pytest.approx(0.72 / 1.38)
    for inside in (found.low + 1e-4, found.share, found.high - 1e-4):
        assert accepted(gains, benefits, inside)
    assert not accepted(gains, benefits, found.low - 1e-4) and not accepted(gains, benefits, found.high + 1e-4)


def test_a_benefit_that_may_be_nothing_leaves_a_set_without_a_bound() -> None:
    gains, benefits = [0.30, 0.33, 0.31, 0.35, 0.32, 0.30], [0.02, -0.01, 0.01, 0.03, -0.02, 0.02]
    found = fieller(gains, benefits)
    assert found.form == UNBOUNDED and math.isnan(found.share) and (found.low, found.high) == (-math.inf, math.inf)
    assert found.excluded_low < 0 < found.excluded_high
    for share in (found.excluded_low - 0.01, found.excluded_high + 0.01, 1e9, -1e9):
        assert accepted(gains, benefits, share)
    for share in (found.excluded_low + 0.01, 0.0, 1.0, found.excluded_high - 0.01):
        assert not accepted(gains, benefits, share)
    assert shares.set_in_words(found).startswith("no bound, but not -")
    assert "is not told from zero: the share has no bound" in shares.in_words(found)


def test_where_nothing_is_told_from_zero_the_share_may_be_anything() -> None:
    gains, benefits = [0.02, -0.03, 0.01], [0.01, 0.02, -0.02]
    found = fieller(gains, benefits)
    assert found.form == ANYTHING and shares.set_in_words(found) == "anything"
    assert all(accepted(gains, benefits, share) for share in np.linspace(-50, 50, 1001))
    assert shares.in_words(found).endswith(
        "(0.3 points higher in 3 triples) is not told from zero: the share may be anything"
    )


def test_harm_has_no_share_and_equal_numbers_no_interval() -> None:
    harm = fieller([0.1, 0.11, 0.12], [-0.2, -0.21, -0.19])
    assert harm.form == HARM and math.isnan(harm.share) and shares.set_in_words(harm) == "-"
    assert "lowers the score by 20.0 points" in shares.in_words(harm)
    flat = fieller([0.1, 0.1], [0.2, 0.2])
    assert flat.form == UNKNOWN and flat.share == 0.5 and math.isnan(flat.low)
    assert (
        shares.in_words(flat)
        == "50% of a benefit of 20.0 points in every one of 2 triples: an interval needs some spread"
    )
    alone = fieller([0.1], [0.2])
    assert alone.form == UNKNOWN and math.isnan(alone.share) and "1 triple: nothing" in shares.in_words(alone)
    assert "no triple" in shares.in_words(fieller([], []))


@pytest.mark.parametrize("benefit", [0.0, 0.5, 1.0, 5.0])
def test_ninety_five_of_a_hundred_sets_have_the_true_share(benefit: float) -> None:
    """Ten seeds, benefits of 0 to 5 standard deviations, the share 0.6, a common end in both differences. Of 10,000
    sweeps 95% give or take 0.65% (three standard errors). The delta method is shown beside it to fail."""
    rng = np.random.default_rng(5)
    gains, benefits = _simulated(rng, 10_000, 10, 0.6, benefit)
    sets = [fieller(some, whole) for some, whole in zip(gains, benefits, strict=True)]
    # Where chance has pretraining harm, no set is told; it is that of the same numbers with the signs turned round.
    sets = [
        fieller(-some, -whole) if found.form == HARM else found
        for found, some, whole in zip(sets, gains, benefits, strict=True)
    ]
    covered = np.mean([_has(found, 0.6) for found in sets])
    assert covered == pytest.approx(0.95, abs=0.0065)
    if benefit < 1:
        assert np.mean([found.form != BOUNDED for found in sets]) > 0.1
    if benefit == 1.0:
        assert abs(_delta_method_covers(gains, benefits, 0.6) - 0.95) > 0.0065


def _simulated(rng: np.random.Generator, sweeps: int, n: int, share: float, benefit: float) -> Any:
    none, place, full = (rng.standard_normal((sweeps, n)) for _ in range(3))
    place, full = place + share * benefit, 0.6 * place + 0.8 * full + benefit  # the seeds agree in part
    return place - none, full - none


def _has(found: shares.Share, share: float) -> bool:
    return found.low <= share <= found.high and not found.excluded_low < share < found.excluded_high


def _delta_method_covers(gains: NDArray[Any], benefits: NDArray[Any], share: float) -> float:
    ratio = gains.mean(1) / benefits.mean(1)
    left = gains - ratio[:, None] * benefits
    error = left.std(1, ddof=1) / math.sqrt(gains.shape[1]) / np.abs(benefits.mean(1))
    return float(np.mean(np.abs(ratio - share) <= 2.262157 * error))


# The table.


KEPT = {"from scratch": 0, "k=3": 3, "k=6": 6, "as pretrained": 12}


def sweep(seeds: int = 3, leave_out: tuple[str, ...] = (), **more: Any) -> pd.DataFrame:
    """One task with two places between the ends; the seeds move all of a round alike."""
    scores = {"from scratch": 0.5, "as pretrained": 0.9, "k=3": 0.6, "k=6": 0.8}
    rows = [
        {"treatment_text": text, "k": KEPT[text], "seed": seed, "score": score + seed / 100, **more}
        for text, score in scores.items()
        if text not in leave_out
        for seed in range(seeds)
    ]
    return results(*rows)


def table_of(table: pd.DataFrame, **block: Any) -> Table:
    (figure,) = figures_of({"kind": "curves", "x": "k", "tables": ["benefit"], "benefit": ENDS, **block})
    (made,) = make(table, figure, Store("nowhere"))
    return made


def test_a_table_has_each_place_but_the_ends_paired_by_seed() -> None:
    some = sweep()
    some.loc[(some["k"] == 3) & (some["seed"] == 1), "score"] += 0.08
    made = table_of(some)
    assert made.data["k"].tolist() == [3, 6] and made.data["n"].tolist() == [3, 3]
    # Gains 0.10, 0.18, 0.10 of 0.40 each: t of two degrees of freedom times the sd of 0.0462 over the root of 3.
    half = 4.302653 * 0.0461880 / math.sqrt(3) / 0.4
    mean = 0.38 / 3 / 0.4
    assert made.data["share"].tolist() == pytest.approx([mean, 0.75])
    assert (made.data["low"][0], made.data["high"][0]) == pytest.approx((mean - half, mean + half), rel=1e-5)
    assert made.cells["share (%)"][0] == "32" and made.cells["benefit x100"].tolist() == ["+40.0", "+40.0"]
    assert "None: from scratch; full: as pretrained" in made.note
    found = findings(made)
    assert found is not None and [one.comparison for one in found[1]] == ["CoLA, k=6"]


def test_a_trial_without_both_partners_is_left_out_and_counted() -> None:
    some = sweep()
    some = some[~((some["treatment_text"] == "from scratch") & (some["seed"] == 2))]
    made = table_of(some)
    assert made.data["n"].tolist() == [2, 2] and made.data["unpaired"].tolist() == [1, 1]
    assert "2 trials have no partner with the same seed at both ends" in made.note


@pytest.mark.parametrize(("end", "name"), [("from scratch", "none"), ("as pretrained", "full")])
def test_an_end_that_is_missing_is_said_in_one_sentence(end: str, name: str) -> None:
    made = table_of(sweep(leave_out=(end,)))
    assert f"No trial of {name} (treatment_text: {end}) is done, so that no share can be told" in made.note
    assert made.data["share"].isna().all()


def test_an_undefined_score_is_in_no_triple() -> None:
    some = sweep()
    some.loc[(some["k"] == 3) & (some["seed"] == 0), "score"] = math.nan
    made = table_of(some)
    assert made.data["n"].tolist() == [2, 3] and "1 triples have no defined score" in made.note


def test_draws_beside_one_run_of_each_end_are_no_triples_of_their_own() -> None:
    rows = [
        {"treatment_text": text, "seed": 0, "score": score}
        for text, score in (("from scratch", 0.5), ("as pretrained", 0.9))
    ]
    rows += [
        {"treatment_text": "k=3", "k": 3, "seed": 0, "seeds.redraw": draw, "score": 0.6 + draw / 10}
        for draw in range(3)
    ]
    made = table_of(grouped(results(*rows)))
    assert made.data["n"].tolist() == [1] and math.isnan(made.data["low"][0])


@pytest.mark.parametrize("given", [{"none": {"k": 0}}, {"none": {"k": 0}, "all": {"k": 1}}, {"k": 0}, [1]])
def test_ends_that_are_not_two_selections_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError, match=r"figure\.benefit"):
        table_of(sweep(), benefit=given)
