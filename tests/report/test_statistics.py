"""Statistics against scipy, worked examples and simulations whose truth is known."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertxfer.errors import BertxferError
from bertxfer.report import intervals
from bertxfer.report.statistics import (
    Baseline,
    adjusted,
    differences,
    differences_from,
    in_words,
    paired,
    quartiles,
    summarize,
    summary,
)


def table(**columns: Any) -> pd.DataFrame:
    """Results by hand: every trial done, with an id of its own."""
    rows = pd.DataFrame(columns)
    if "seed" in rows:
        rows["seeds.order"] = rows["seed"]
    return rows.assign(id=[f"trial{i}" for i in range(len(rows))], state="done")


@pytest.mark.parametrize("n", range(2, 51))
def test_t_intervals_are_scipys(n: int) -> None:
    scores = np.random.default_rng(n).normal(0.8, 0.05, n)
    expected = stats.ttest_1samp(scores, 0.0).confidence_interval(0.95)
    found = summary(scores)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert (found.n, found.sd) == (n, pytest.approx(np.sqrt(((scores - scores.mean()) ** 2).sum() / (n - 1))))


def covered(n: int, interval: str, rounds: int = 4000) -> float:
    """The share of simulated sets of n trials whose interval has the true mean in it."""
    rng = np.random.default_rng(n)
    found = [summary(rng.normal(0.7, 0.1, n), interval) for _ in range(rounds)]
    return sum(one.low <= 0.7 <= one.high for one in found) / rounds


@pytest.mark.parametrize("n", [3, 8, 50])
def test_95_percent_intervals_cover_the_truth_in_95_percent(n: int) -> None:
    # four standard errors of a share of 4000
    assert covered(n, "t95") == pytest.approx(0.95, abs=4 * math.sqrt(0.95 * 0.05 / 4000))


def test_the_published_intervals_do_not_cover_what_they_promise() -> None:
    assert covered(3, "paper_code") < 0.88
    scores = np.array([0.1, 0.2, 0.6])
    assert intervals.half_width(scores, "paper_code") == pytest.approx(2.667 * math.sqrt(0.14 / 3) / math.sqrt(3))


def test_a_summary_leaves_undefined_scores_out_and_counts_them() -> None:
    found = summary([0.5, math.nan, 0.7])
    assert (found.n, found.undefined, found.mean, found.median) == (2, 1, pytest.approx(0.6), pytest.approx(0.6))
    one = summary([0.5])
    assert (one.n, one.mean) == (1, 0.5)
    assert math.isnan(one.sd) and math.isnan(one.low) and math.isnan(one.high)
    assert summary([math.nan]).undefined == 1 and math.isnan(summary([]).mean)
    with pytest.raises(BertxferError, match="t95, sd2, paper_code"):
        summary([1.0, 2.0], "95%")


def test_summaries_by_group_count_a_trial_once_and_no_unfinished_one() -> None:
    results = table(k=[0, 0, 1, 1, 1], score=[0.1, 0.3, 0.5, 0.5, 0.9])
    results.loc[3, "id"] = results.loc[2, "id"]  # a second place of the same trial
    results.loc[4, "state"] = "missing"
    found = summarize(results, ["k"])
    assert found[["k", "n"]].values.tolist() == [[0, 2], [1, 1]]
    assert found["mean"].tolist() == pytest.approx([0.2, 0.5])


def test_holm_and_benjamini_hochberg_on_a_worked_example() -> None:
    # By hand: Holm 4 x 0.005, 3 x 0.01, 2 x 0.03, 1 x 0.04 made monotone; BH 4/1 x 0.005, 4/2 x 0.01, 4/3 x 0.03, 0.04.
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjusted(p, "holm").tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted(p, "fdr_bh").tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    with_gap = adjusted([0.01, math.nan, 0.04, 0.03, 0.005], "holm")
    assert with_gap[[0, 2, 3, 4]].tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02]) and math.isnan(with_gap[1])


def planted(difference: float, seeds: int = 10) -> pd.DataFrame:
    """Seeds differ much (sd 0.1); under the treatment each loses a little, more or less alike (sd 0.005)."""
    rng = np.random.default_rng(0)
    base = rng.normal(0.8, 0.1, seeds)
    treated = base + difference + rng.normal(0, 0.005, seeds)
    return table(k=[12] * seeds + [6] * seeds, task="sst2", seed=[*range(seeds)] * 2, score=[*base, *treated])


def test_the_paired_test_finds_what_the_unpaired_one_misses() -> None:
    results = planted(-0.02)
    base, treated = results[results["k"] == 12]["score"], results[results["k"] == 6]["score"]
    assert stats.ttest_ind(treated, base).pvalue > 0.5
    found = differences(results, ["task", "k"], {"k": 12}, ["task"])
    assert found["k"].tolist() == [6]
    row = found.iloc[0]
    expected = stats.ttest_rel(treated, base)
    assert row["p_t"] == pytest.approx(expected.pvalue)
    assert (row["low"], row["high"]) == pytest.approx(tuple(expected.confidence_interval()))
    assert row["p_t"] < 1e-4 and row["p_wilcoxon"] < 0.01 and row["p_permutation"] == pytest.approx(2 / 2**10)
    assert row["effect"] < -2
    assert f"{-100 * (treated.to_numpy() - base.to_numpy()).mean():.1f} points lower than the baseline" in row["words"]
    assert "no difference from the baseline shown" in differences(planted(0.0), ["k"], {"k": 12}, [])["words"][0]


def test_the_order_of_rows_and_trials_without_a_partner_change_no_pair() -> None:
    results = planted(-0.02)
    lonely = results.drop(index=[0]).sample(frac=1, random_state=1)  # seed 0 has no baseline
    whole = differences(results, ["k"], {"k": 12}, []).iloc[0]
    found = differences(lonely, ["k"], {"k": 12}, []).iloc[0]
    assert (whole["n"], whole["unpaired"], found["n"], found["unpaired"]) == (10, 0, 9, 1)
    assert found["mean"] == pytest.approx(-0.02, abs=0.01)


def test_trials_that_saw_other_rows_are_no_pair() -> None:
    results = planted(-0.02).assign(data_digest="same")
    results.loc[19, "data_digest"] = "other"
    assert differences(results, ["k"], {"k": 12}, []).iloc[0][["n", "unpaired"]].tolist() == [9, 1]


def test_a_baseline_is_that_of_the_same_task() -> None:
    other = planted(-0.3).assign(task="cola", id=[f"other{i}" for i in range(20)])
    results = pd.concat([planted(-0.02), other], ignore_index=True)
    found = differences(results, ["task", "k"], {"k": 12}, ["task"])
    assert found.set_index("task")["mean"].round(2).to_dict() == {"sst2": -0.02, "cola": -0.3}
    assert found["p_holm"].max() >= found["p_t"].max()  # two tests were made


def against_two() -> pd.DataFrame:
    """Two places and two baselines of eight seeds: k=6 between full BERT and k=0, k=3 beside k=0."""
    noise = np.random.default_rng(2).normal(0, 0.002, (4, 8))
    scores = np.array([[0.8], [0.5], [0.7], [0.5]]) + noise
    return table(k=np.repeat([12, 0, 6, 3], 8), seed=[*range(8)] * 4, score=scores.ravel())


def test_each_baseline_is_compared_with_everything_once_and_all_tests_are_one_family() -> None:
    results = against_two()
    by_k = {k: results.loc[results["k"] == k, "score"].to_numpy() for k in (12, 0, 6, 3)}
    baselines = [Baseline("full BERT", {"k": 12}, []), Baseline("embeddings only", {"k": 0}, [])]
    found = differences_from(baselines, results, ["k"])
    # k=0 against full BERT, and not full BERT against k=0 as well.
    expected = [(0, 12), (6, 12), (3, 12), (6, 0), (3, 0)]
    names = {12: "full BERT", 0: "embeddings only"}
    assert list(zip(found["k"], found["baseline"], strict=True)) == [(k, names[base]) for k, base in expected]
    tests = [stats.ttest_rel(by_k[k], by_k[base]).pvalue for k, base in expected]
    assert found["p_t"].tolist() == pytest.approx(tests)
    assert found["p_holm"].min() == pytest.approx(5 * min(tests))
    gain = 100 * (by_k[6] - by_k[0]).mean()
    assert found["words"][3].startswith(f"{gain:.1f} points higher than embeddings only (95% interval")
    assert found["words"][4].startswith("no difference from embeddings only shown (p = ")


def test_only_the_chosen_groups_are_compared() -> None:
    baselines = [Baseline("full BERT", {"k": 12}, []), Baseline("embeddings only", {"k": 0}, [])]
    found = differences_from(baselines, against_two(), ["k"], where={"k": 6})
    assert found[["k", "baseline"]].values.tolist() == [[6, "full BERT"], [6, "embeddings only"]]


def test_what_too_few_pairs_say_is_not_in_the_family() -> None:
    """k=6 has ten pairs, k=3 three: the one test that a claim is made from is corrected for one test."""
    few = planted(-0.2, seeds=3).assign(id=["x", "y", "z", "u", "v", "w"])
    both = pd.concat([planted(-0.02), few[few["k"] == 6].assign(k=3)], ignore_index=True)
    found = differences(both, ["k"], {"k": 12}, []).set_index("k")
    assert found.loc[6, "p_holm"] == found.loc[6, "p_bh"] == found.loc[6, "p_t"]
    assert found.loc[3, "p_t"] > 0 and math.isnan(found.loc[3, "p_holm"]) and math.isnan(found.loc[3, "p_bh"])
    assert "too few for a claim" in found.loc[3, "words"]


def test_two_trials_of_one_seed_are_refused_and_not_averaged() -> None:
    with pytest.raises(BertxferError, match="they have the same seeds, so something other"):
        differences(planted(-0.02).assign(**{"seeds.order": 0}), ["k"], {"k": 12}, [])


@pytest.mark.parametrize(
    ("seeds", "words"), [(1, "nothing can be said"), (3, "too few for a claim"), (6, "95% interval")]
)
def test_too_few_trials_are_said_in_words(seeds: int, words: str) -> None:
    assert words in differences(planted(-0.2, seeds), ["k"], {"k": 12}, [])["words"][0]


def test_differences_without_spread_are_no_certainty() -> None:
    alike = paired([0.01] * 8)
    assert math.isnan(alike["p_t"]) and alike["p_permutation"] == pytest.approx(2 / 2**8)
    assert paired([0.0] * 8) == {"p_t": 1.0, "p_wilcoxon": 1.0, "p_permutation": 1.0}
    assert "needs some spread" in in_words({"n": 8, "mean": 0.01, "p_holm": math.nan, "low": 0.01, "high": 0.01})


@pytest.mark.parametrize("n", [2, 3, 6, 9, 13, 14, 20])
def test_flipped_signs_and_signed_ranks_are_scipys(n: int) -> None:
    """With ties and zeros, as accuracies over the same dev rows have them."""
    values = np.random.default_rng(n).integers(-3, 6, n) / 32
    found, random = paired(values), np.random.default_rng(1)
    flips = stats.permutation_test((values,), np.mean, vectorized=True, permutation_type="samples", rng=random)
    # Beyond 13 pairs both draw flips at random, 9,999 each: four standard errors of a p of a half.
    chance = 0 if n <= 13 else 4 * math.sqrt(0.25 / 9999 * 2)
    assert found["p_permutation"] == pytest.approx(flips.pvalue, abs=chance + 1e-12)
    assert found["p_wilcoxon"] == pytest.approx(stats.wilcoxon(values).pvalue, rel=1e-9)


def test_quartiles_are_those_that_cs224n2020_prints() -> None:
    """Its figure 6 (STS-B, layers 1 and 2, differences by head) gives its figure 8, up to the last digit."""
    layer1 = [0.002, 0.002, -0.002, -0.003, -0.003, -0.007, -0.004, -0.001, -0.007, -0.001, -0.005, -0.003]
    layer2 = [-0.001, -0.001, -0.001, -0.004, -0.002, -0.006, -0.003, -0.002, -0.023, -0.001, -0.004, -0.001]
    values = pd.DataFrame({"layer": [1] * 12 + [2] * 12, "difference": layer1 + layer2})
    found = quartiles(values, "layer", "difference")
    assert found.columns.tolist() == ["layer", "count", "mean", "sd", "min", "25%", "50%", "75%", "max"]
    printed = [
        [12, -0.003, 0.003, -0.007, -0.004, -0.003, -0.001, 0.002],
        [12, -0.004, 0.006, -0.023, -0.004, -0.002, -0.001, -0.001],
    ]
    assert found.iloc[:, 1:].to_numpy() == pytest.approx(np.array(printed), abs=0.0011)
