"""Components of variance: numbers by hand, known components found again, and how often an interval covers them."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from bertxfer.report import variance
from bertxfer.report.blocks import figures_of
from bertxfer.report.stars import stars
from bertxfer.report.tables import Table, make
from bertxfer.report.variance import component
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from tests.helpers.claimed import invented
from tests.helpers.commands import Run
from tests.helpers.frames import grouped, results

Array = NDArray[Any]
Score = Callable[[Array], Array]  # of what each stream draws, along the last axis
WEIGHTS = np.sqrt([0.5, 0.3, 0.2])


def additive(drawn: Array) -> Array:
    return np.asarray(drawn @ WEIGHTS)


def with_interaction(drawn: Array) -> Array:
    """The first two streams do half of it together; what is left is as above."""
    return np.asarray(additive(drawn) * math.sqrt(0.5) + math.sqrt(0.5) * drawn[..., 0] * drawn[..., 1])


# Of the whole variance, which is 1: what involves each stream, and what it does alone.
TOTAL: dict[Score, list[float]] = {additive: [0.5, 0.3, 0.2], with_interaction: [0.75, 0.65, 0.1]}
ALONE: dict[Score, list[float]] = {additive: [0.5, 0.3, 0.2], with_interaction: [0.25, 0.15, 0.1]}


def simulated(
    score: Score, stream: int, sweeps: int, rounds: int, rng: np.random.Generator
) -> list[variance.Component]:
    first, second = (rng.standard_normal((sweeps, rounds, 3)) for _ in range(2))
    changed = first.copy()
    changed[..., stream] = second[..., stream]
    parts = score(first), score(changed), score(second)
    return [component(*(part[sweep] for part in parts)) for sweep in range(sweeps)]


def test_a_component_by_hand() -> None:
    found = component([0.5, 0.7], [0.6, 0.7], [0.4, 0.8])
    assert found.variance == pytest.approx((0.01 + 0.01 + 0.04 + 0.04) / 3)
    assert found.effect == pytest.approx((0.1**2 + 0) / 2 / 2)
    assert found.total == pytest.approx(0.0025 / (0.1 / 3))
    assert found.alone == pytest.approx(1 - (0.2**2 + 0.1**2) / 2 / 2 / (0.1 / 3))
    assert math.isnan(found.total_low) and "too few for an interval" in variance.in_words(found, "order")


def test_without_others_there_is_a_total_effect_and_nothing_is_said_of_a_stream_alone() -> None:
    found = component([0.5, 0.7, 0.6, 0.4, 0.5, 0.8], [0.6, 0.7, 0.5, 0.4, 0.6, 0.7], [math.nan] * 6)
    assert found.variance == pytest.approx(np.var([0.5, 0.7, 0.6, 0.4, 0.5, 0.8], ddof=1))
    assert 0 < found.total_low < found.total < found.total_high and math.isnan(found.alone)


def test_a_share_that_chance_puts_above_the_whole_is_told_as_the_whole() -> None:
    # Every pair is further apart than independent scores are.
    found = component([0.5, 0.6] * 4, [0.6, 0.5, 0.7, 0.4, 0.6, 0.5, 0.6, 0.5], [0.5, 0.6] * 4)
    assert found.total > 1 >= found.total_high >= found.total_low
    assert variance.in_words(found, "order").startswith("100% of the variance involves the order of batches")


def test_what_changes_nothing_has_no_interval_and_says_so() -> None:
    still = component([0.5, 0.7] * 3, [0.5, 0.7] * 3, [0.4, 0.6] * 3)
    assert still.effect == 0 and "changed no score in 6 rounds" in variance.in_words(still, "dropout")
    once = component([0.5, 0.7] * 3, [0.5, 0.8] + [0.5, 0.7] * 2, [0.4, 0.6] * 3)
    assert math.isnan(once.total_low) and "no interval can be given" in variance.in_words(once, "dropout")
    assert "the same score" in variance.in_words(component([0.5] * 6, [0.5] * 6, [0.5] * 6), "order")
    assert "1 round: nothing" in variance.in_words(component([0.5], [0.6], [0.7]), "order")


@pytest.mark.parametrize("score", [additive, with_interaction])
@pytest.mark.parametrize("stream", [0, 1, 2])
def test_known_components_are_found_again_and_covered(score: Score, stream: int) -> None:
    sweeps, rounds = 1500, 10
    found = simulated(score, stream, sweeps, rounds, np.random.default_rng(stream))
    for value, truth in (
        ([one.effect for one in found], TOTAL[score][stream]),
        ([one.variance for one in found], 1.0),
        ([one.alone * one.variance for one in found], ALONE[score][stream]),
    ):
        assert abs(np.mean(value) - truth) < 4 * np.std(value) / math.sqrt(sweeps)
    covered = np.mean([one.total_low <= TOTAL[score][stream] <= one.total_high for one in found])
    alone = np.mean([one.alone_low <= ALONE[score][stream] <= one.alone_high for one in found])
    least = (0.91, 0.87) if score is additive else (0.87, 0.82)
    assert least[0] <= covered <= 0.98 and least[1] <= alone <= 0.98


# The table.

STREAMS = ("subsample", "redraw", "head", "order", "dropout")


def rounds_of(numbers: range, streams: tuple[str, ...] = STREAMS) -> list[dict[str, Any]]:
    """Seeds of the trials of some rounds: all alike, each stream by itself, and all others."""
    found = []
    for number in numbers:
        alike = {f"seeds.{stream}": number for stream in streams}
        found.append(alike)
        found += [{**alike, f"seeds.{stream}": number + 1000} for stream in streams]
        found.append(dict.fromkeys(alike, number + 1000))
    return found


def table_of(rows: list[dict[str, Any]]) -> Table:
    made = results(*({"treatment_text": "some", "score": 0.5, **row} for row in rows))
    made = grouped(made).assign(**{"seeds.order": [row["seeds.order"] for row in rows]})
    (figure,) = figures_of({"kind": "table", "tables": ["components"]})
    (table,) = make(made, figure, Store("nowhere"))
    return table


def test_a_star_is_found_whatever_the_order_and_whoever_is_missing() -> None:
    rows = rounds_of(range(4))
    random.Random(3).shuffle(rows)
    table = pd.DataFrame(rows)
    found = stars(table)
    assert len(found) == 4
    for star in found:
        seeds = set(rows[star.base].values())
        assert len(seeds) == 1 and set(star.changed) == set(STREAMS) and star.other is not None
        assert set(rows[star.other].values()) == {seeds.pop() + 1000}


def test_trials_without_a_partner_are_counted_and_streams_without_rows_named() -> None:
    streams = ("head", "order", "dropout")
    rows = [{**row, "score": 0.5 + i % 5 / 10} for i, row in enumerate(rounds_of(range(6), streams))]
    table = table_of([*rows, {**rows[0], **{f"seeds.{stream}": 77 for stream in streams}}])
    assert table.data["stream"].tolist() == ["head", "order", "dropout"] and set(table.data["rounds"]) == {6}
    assert "No row for subsample and redraw where the trials do not draw from it" in table.note
    assert "1 trials differ from no other" in table.note and "need not sum to 100%" in table.note
    undone = [{**row, **({"state": "missing"} if i == 0 else {})} for i, row in enumerate(rows)]
    assert set(table_of(undone).data["rounds"]) == {5} and "3 pairs are not done" in table_of(undone).note
    assert "No two trials differ" in table_of([rows[0], rows[-1]]).note


# Through the command line.


def drawn(place: Point) -> dict[str, float]:
    """What each stream of a trial draws, as a number."""
    return {name: random.Random(f"{name} {seed}").gauss(0, 1) for name, seed in place.trial.science.seeds.items()}


def invented_score(place: Point) -> float:
    one = drawn(place)
    return 0.6 + 0.03 * one["head"] + 0.02 * one["order"] + 0.01 * one["dropout"] + 0.02 * one["head"] * one["order"]


def test_the_preset_recovers_invented_components(bertxfer: Run, tmp_path: Path) -> None:
    words = ["experiment=dodge2020/components", "model=mini", "task=mini_sst2,mini_cola", "data.n=64", "seed=0..9"]
    out = tmp_path / "out"
    invented(words, out, invented_score)
    ended = bertxfer("report", "--output-dir", str(out), "-m", *words)
    assert ended.returncode == 0, ended.stderr
    found = pd.read_csv(next(out.glob("reports/*/tables/components.csv")))
    assert found.groupby(["task", "k"])["stream"].apply(list).map(len).to_dict() == {
        ("mini_sst2", 6): 5,
        ("mini_sst2", 12): 4,
        ("mini_cola", 6): 5,
        ("mini_cola", 12): 4,
    }
    assert set(found["rounds"]) == {10}
    expected = {stream: slow_effect(stream, range(10)) for stream in STREAMS}
    for row in found.to_dict("records"):
        assert row["effect"] == pytest.approx(expected[row["stream"]], abs=1e-12), row
    by_stream = found[found["k"] == 6].groupby("stream")["total"].first()
    assert by_stream["subsample"] == by_stream["redraw"] == 0
    assert by_stream["head"] > by_stream["order"] > by_stream["dropout"] > 0


def slow_effect(stream: str, rounds: range) -> float:
    """Half the mean squared change of the invented score, round by round."""
    squares = []
    for number in rounds:
        before = {name: random.Random(f"{name} {number}").gauss(0, 1) for name in STREAMS}
        after = {**before, stream: random.Random(f"{stream} {number + 1000}").gauss(0, 1)}
        squares.append((_formula(after) - _formula(before)) ** 2)
    return sum(squares) / len(squares) / 2


def _formula(one: dict[str, float]) -> float:
    return 0.03 * one["head"] + 0.02 * one["order"] + 0.01 * one["dropout"] + 0.02 * one["head"] * one["order"]
