"""Correlations between tasks against scipy and counts by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bertxfer.report.correlations import FEWEST_PERMUTATIONS, between_tasks, spearman


def permuted(**tasks: list[float]) -> pd.DataFrame:
    """Scores of each task under the permutations of seed 0, 1, 2, ..."""
    rows = [
        {"id": f"{task}{seed}", "task": task, "seeds.order": seed, "score": score, "state": "done"}
        for task, scores in tasks.items()
        for seed, score in enumerate(scores)
    ]
    return pd.DataFrame(rows)


def test_correlations_between_tasks_are_over_the_same_permutations() -> None:
    rng = np.random.default_rng(1)
    a = rng.normal(size=10)
    b = a + 0.1 * rng.normal(size=10)
    results = permuted(x=[*a], y=[*b], z=[0.5] * 10)
    found = between_tasks(results.sample(frac=1, random_state=0).sort_values("task")).set_index(["a", "b"])
    expected = stats.pearsonr(a, b), stats.spearmanr(a, b)
    row = found.loc[("x", "y")]
    assert [row["pearson"], row["p_pearson"]] == pytest.approx([expected[0].statistic, expected[0].pvalue])
    assert [row["spearman"], row["p_spearman"]] == pytest.approx([expected[1].statistic, expected[1].pvalue])
    assert math.isnan(found.loc[("x", "z")]["pearson"]) and "same score everywhere" in found.loc[("x", "z")]["words"]


def test_no_fewer_permutations_than_five_can_show_a_correlation() -> None:
    """Of four, 2 of 24 rankings are as extreme as a perfect one: 0.083; of five, 2 of 120: 0.017."""
    assert FEWEST_PERMUTATIONS == 5
    assert spearman(np.arange(4.0), np.arange(4.0)) == (pytest.approx(1.0), pytest.approx(2 / 24))
    assert spearman(np.arange(5.0), -np.arange(5.0)) == (pytest.approx(-1.0), pytest.approx(2 / 120))
    (few,) = between_tasks(permuted(x=[1, 2, 3, 4], y=[1, 2, 3, 4])).to_dict("records")
    assert few["words"] == "4 permutations: too few for a claim"
    assert few["p_spearman"] == pytest.approx(2 / 24) and math.isnan(few["p_holm"])
    (enough,) = between_tasks(permuted(x=[1, 2, 3, 4, 5], y=[5, 4, 3, 2, 1])).to_dict("records")
    assert (
        enough["words"] == "ranks inversely correlated (Spearman's p = 0.017 after Holm's correction, 5 permutations)"
    )


@pytest.mark.parametrize("n", [5, 6, 7])
def test_few_permutations_have_the_p_of_all_rankings(n: int) -> None:
    """With ties, as accuracies over few dev rows have them."""
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 4, n).astype(float), rng.integers(0, 4, n).astype(float)
    exact = stats.permutation_test(
        (a,),
        lambda values: stats.spearmanr(values, b).statistic,
        permutation_type="pairings",
        n_resamples=np.inf,
    )
    # scipy's two-sided p is twice the smaller tail; here both tails are counted, which is |rho| at least as large.
    as_far = np.abs(exact.null_distribution) >= abs(exact.statistic) - 1e-12
    assert spearman(a, b) == (pytest.approx(exact.statistic), pytest.approx(as_far.mean()))


def test_what_is_said_follows_spearman_after_holm() -> None:
    """One far outlier makes Pearson certain where ranks show nothing; and of three tests
    one with a p of 0.02 shows nothing."""
    straight = [1.0, 2, 3, 4, 5, 6, 7, 8, 9, 100]
    outlier = [5.0, 9, 1, 7, 3, 8, 2, 6, 4, 100]
    (row,) = between_tasks(permuted(x=straight, y=outlier)).to_dict("records")
    assert row["p_pearson"] < 0.001 and row["p_spearman"] > 0.3
    assert row["words"].startswith("no correlation of ranks shown (Spearman's p = ")
    close = [1.0, 5, 2, 8, 3, 4, 9, 7, 6, 10]
    scores = {"x": straight, "y": outlier, "z": close}
    rows = between_tasks(permuted(**scores))
    raw = [stats.spearmanr(scores[a], scores[b]).pvalue for a, b in ("xy", "xz", "yz")]
    assert rows["p_spearman"].tolist() == pytest.approx(raw)
    assert 0.02 < raw[1] < 0.05 and rows["p_holm"][1] == pytest.approx(3 * raw[1])
    assert rows["words"][1].startswith("no correlation of ranks shown")


def test_settings_are_correlated_apart_and_corrected_together() -> None:
    up, down = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.6, 0.5, 0.4, 0.3, 0.2, 0.1]
    small, large = (permuted(x=up, y=y).assign(**{"data.n": n}) for n, y in ((500, up), (5000, down)))
    large["id"] += "large"
    found = between_tasks(pd.concat([small, large], ignore_index=True), ["data.n"])
    assert found[["data.n", "a", "b", "n"]].values.tolist() == [[500, "x", "y", 6], [5000, "x", "y", 6]]
    assert found["spearman"].tolist() == pytest.approx([1, -1])
    assert found["p_holm"].tolist() == pytest.approx([2 * 2 / 720] * 2)
