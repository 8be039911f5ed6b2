"""Which trials answer which question, and the one number that each round gives."""

import math
from collections.abc import Callable, Mapping
from itertools import product
from typing import Any

import pytest
import yaml

from bertxfer.claims.case import Case, Reading, case_of, cases
from bertxfer.claims.claim import claims_of
from bertxfer.claims.numbers import concordant, number_of, rank_correlation, step_of
from bertxfer.claims.progress import Decision, Value, decide
from bertxfer.system.files import read_json, write_json

Row = dict[str, Any]


def rows(rounds: int = 3, **axes: Any) -> list[Row]:
    """Places of a grid, with every trial named by its values. `data__n` is data.n."""
    names = [name.replace("__", ".") for name in axes]
    made = []
    for *values, number in product(*axes.values(), range(rounds)):
        row = dict(zip(names, values, strict=True))
        name = " ".join(f"{key}={value}" for key, value in row.items())
        made.append({"headline": "accuracy", "task": "sst2", **row, "seed": number, "round": number})
        made[-1]["id"] = f"{name} {number}"
    return made


def found(text: str, among: list[Row], *axes: str) -> list[Case]:
    (claim,) = claims_of({"mine": {"says": "so it is", **yaml.safe_load(text)}})
    return cases(claim, among, axes)


def numbers(case: Case, score: Callable[[Mapping[str, Any]], float], among: list[Row]) -> list[float]:
    """The number of each round, where trials have these scores."""
    return list(_decided(case, score, among).numbers)


def _decided(case: Case, score: Callable[[Mapping[str, Any]], float], among: list[Row]) -> Decision:
    by_id = {row["id"]: row for row in among}
    return decide(case, 0.05, lambda reading: Value(score({**by_id[reading.trial], **dict(reading.at)})))


def test_it_is_asked_for_each_value_of_what_it_does_not_name() -> None:
    among = rows(task=["sst2", "cola"], k=[0, 6, 12], data__n=[500, 5000])
    found_cases = found("{more: {k: 6}, than: {k: 0}}", among, "task", "data.n", "k", "seed")
    assert [case.place for case in found_cases] == [
        {"task": task, "data.n": n} for task in ("sst2", "cola") for n in (500, 5000)
    ]
    first = found_cases[0]
    assert first.trials == {f"task=sst2 k={k} data.n=500 {number}" for k in (0, 6) for number in range(3)}
    assert numbers(first, lambda row: row["k"] / 100 + row["seed"] / 10, among) == pytest.approx([6, 6, 6])


def test_over_averages_and_a_side_may_be_a_difference() -> None:
    among = rows(task=["sst2", "cola"], k=[0, 6, 12], data__n=[500, 5000])
    (averaged,) = found("{more: {k: 12}, than: {k: 0}, over: [task, data.n]}", among, "task", "data.n", "k", "seed")
    assert averaged.place == {} and len(averaged.trials) == 4 * 2 * 3
    (steeper,) = found(
        "{more: {k: 6, data.n: 5000, minus: {k: 0}}, than: {k: 6, data.n: 500, minus: {k: 0}}, where: {task: cola}}",
        among,
        *("task", "data.n", "k", "seed"),
    )
    # 6 k n / 5000 at each: with n=5000 six layers give 36, with n=500 3.6.
    assert numbers(steeper, lambda row: row["k"] ** 2 * row["data.n"] / 5000 / 100, among) == pytest.approx([32.4] * 3)


def test_a_number_may_be_the_other_side() -> None:
    among = rows(k=[1, 2])
    found_cases = found("{same: {k: [1, 2]}, as: 50, margin: 10}", among, "k", "seed")
    (case,) = found_cases
    assert numbers(case, lambda row: 0.5 + row["k"] / 100, among) == pytest.approx([1.5] * 3)


def test_the_baseline_has_no_block_and_is_there_for_every_block() -> None:
    among = rows(scheme=["localized"], block=[1, 2]) + rows(scheme=["baseline"], block=[None])
    found_cases = found("{less: {scheme: localized}, than: {scheme: baseline}}", among, "scheme", "block", "seed")
    assert [case.place for case in found_cases] == [{"block": 1}, {"block": 2}]
    assert all("scheme=baseline block=None 0" in case.trials for case in found_cases)


def test_another_sample_is_no_baseline() -> None:
    """What a trial is trained on is the same on both sides."""
    among = rows(scheme=["permutation"], data__n=[500, 5000]) + rows(scheme=["baseline"], data__n=[5000])
    found_cases = found("{less: {scheme: permutation}, than: {scheme: baseline}}", among, "scheme", "data.n", "seed")
    assert [case.place for case in found_cases] == [{"data.n": 5000}]


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("{less: {scheme: b}, than: {scheme: a}}", {"data.n": (500, 100)}),
        ("{less: {scheme: b}, than: {scheme: a}}", {"optimizer.lr": (1e-3, 1e-4)}),
        ("{less: {scheme: b}, than: {scheme: a}}", {"model.dropout": (None, 0.1)}),
        ("{less: {scheme: b}, than: {scheme: a}}", {"probe.layer": (None, 3)}),
        ("{largest: {scheme: a}}", {"training.epochs": (3, 5)}),
    ],
)
def test_trials_of_other_settings_are_not_compared(text: str, settings: Mapping[str, tuple[Any, Any]]) -> None:
    """A claim that names the setting means that they are."""
    (setting, (first, second)) = next(iter(settings.items()))
    alike = [{**row, setting: first} for scheme in "ab" for row in rows(scheme=[scheme])]
    assert len(found(text, alike, "scheme", setting, "seed")) == 1
    unlike = [{**row, setting: first if row["scheme"] == "a" else second} for row in alike]
    assert found(text, unlike, "scheme", setting, "seed") == []
    if "less" in text:
        named = f"{{less: {{scheme: b, {setting}: {'null' if second is None else second}}}, than: {{scheme: a}}}}"
        assert len(found(named, unlike, "scheme", setting, "seed")) == 1


def test_nothing_is_compared_with_itself() -> None:
    among = rows(k=[0, 6])
    assert found("{same: {k: 6}, as: {k: 6}}", among, "k", "seed") == []
    assert found("{less: {k: 6}, than: {task: sst2}}", among, "k", "seed") == []


def test_places_that_only_some_have_make_no_question_twice() -> None:
    """Two tasks by the number of rows, one by its share."""
    of_n = [{**row, "data.fraction": None} for row in rows(task=["sst2", "cola"], k=[0, 3, 6], data__n=[100, 200])]
    of_share = [{**row, "data.n": None} for row in rows(task=["squad"], k=[0, 3, 6], data__fraction=[0.1])]
    found_cases = found("{rises: k}", of_n + of_share, "task", "data.n", "data.fraction", "k", "seed")
    assert [case.place for case in found_cases] == [
        *({"task": task, "data.n": n} for task in ("sst2", "cola") for n in (100, 200)),
        {"task": "squad"},
    ]
    assert len({case.rounds for case in found_cases}) == 5


def test_a_side_that_has_no_such_axis_may_come_first() -> None:
    among = rows(scheme=["localized"], block=[1, 2]) + rows(scheme=["baseline"], block=[None])
    found_cases = found("{more: {scheme: baseline}, than: {scheme: localized}}", among, "scheme", "block", "seed")
    assert [case.place for case in found_cases] == [{"block": 1}, {"block": 2}]


def test_the_largest_may_be_none() -> None:
    among = rows(task=["rte"], intermediate=[None, "cola", "mrpc"])
    (case,) = found("{largest: {intermediate: null}}", among, "task", "intermediate", "seed")
    assert sorted(cell.part for cell in case.rounds[0][1]) == [0.0, 0.0, 1.0]
    among = rows(preserve=[True, False], block=[1, 2, 3]) + rows(preserve=[False], block=[None])
    (case,) = found("{largest: {block: 2}, where: {preserve: false}}", among, "preserve", "block", "seed")
    assert len(case.rounds[0][1]) == 3  # the baseline has no block, and is none of these places


def test_what_follows_from_another_axis_is_not_told() -> None:
    among = [
        {**row, "training.epochs": 5 if row["data.n"] == 500 else 3} for row in rows(k=[0, 6], data__n=[500, 5000])
    ]
    found_cases = found("{more: {k: 6}, than: {k: 0}}", among, "data.n", "k", "training.epochs", "seed")
    assert [case.place for case in found_cases] == [{"data.n": 500}, {"data.n": 5000}]


def test_rounds_are_those_that_every_part_has() -> None:
    among = rows(5, k=[0]) + rows(3, k=[6])
    (case,) = found("{more: {k: 6}, than: {k: 0}}", among, "k", "seed")
    assert [number for number, _ in case.rounds] == [0, 1, 2]
    assert found("{more: {k: 7}, than: {k: 0}}", among, "k", "seed") == []


def test_a_round_in_which_an_average_lacks_a_place_is_no_round() -> None:
    """Fifty seeds of the small sample and three of the large one are three rounds of their mean."""
    among = rows(5, k=[0, 6], data__n=[500]) + rows(3, k=[0, 6], data__n=[5000])
    (case,) = found("{more: {k: 6}, than: {k: 0}, over: data.n}", among, "data.n", "k", "seed")
    assert [number for number, _ in case.rounds] == [0, 1, 2]
    assert len(found("{more: {k: 6}, than: {k: 0}}", among, "data.n", "k", "seed")[0].rounds) == 5


def test_rises_along_an_axis() -> None:
    among = rows(k=[0, 6, 12])
    (case,) = found("{rises: k}", among, "k", "seed")
    assert numbers(case, lambda row: row["k"], among) == pytest.approx([1.0] * 3)
    assert numbers(case, lambda row: -row["k"], among) == pytest.approx([-1.0] * 3)
    assert numbers(case, lambda row: 0.5, among) == [0.0] * 3  # neither
    assert numbers(case, lambda row: [0, 1, 0][row["k"] // 6], among) == pytest.approx([0.0] * 3)
    assert found("{rises: k}", rows(k=[0, 6]), "k", "seed") == []  # two places rise or fall by chance


def test_the_extreme_is_inside_by_so_many_points() -> None:
    among = rows(block=[1, 2, 3, 4])
    score = {1: 0.8, 2: 0.6, 3: 0.65, 4: 0.9}
    (lowest,) = found("{smallest: {block: [2, 3]}}", among, "block", "seed")
    assert numbers(lowest, lambda row: score[row["block"]], among) == pytest.approx([-20.0] * 3)
    (largest,) = found("{largest: {block: [2, 3]}}", among, "block", "seed")
    assert numbers(largest, lambda row: score[row["block"]], among) == pytest.approx([-25.0] * 3)
    assert found("{largest: {block: [1, 2, 3, 4]}}", among, "block", "seed") == []  # nothing is outside


def test_two_profiles_are_alike_in_every_round() -> None:
    among = rows(task=["sst2", "cola"], k=[0, 6, 12])
    (case,) = found("{correlated: {task: [sst2, cola]}, along: k}", among, "task", "k", "seed")
    turned = {"sst2": 1, "cola": -1}
    assert numbers(case, lambda row: row["k"], among) == pytest.approx([1.0] * 3)
    assert numbers(case, lambda row: turned[row["task"]] * row["k"], among) == pytest.approx([-1.0] * 3)


def test_permutations_that_suit_both_tasks() -> None:
    among = rows(40, task=["sst2", "cola"])
    (case,) = found("{correlated: {task: [sst2, cola]}}", among, "task", "seed")
    together = numbers(case, lambda row: (row["seed"] * 7 % 40) / 40, among)
    assert len(together) == 39  # the first has nothing to be ranked among
    assert sum(together) / 39 == pytest.approx(1.0, abs=0.15)
    against = {"sst2": 1, "cola": -1}
    assert _decided(case, lambda row: (row["seed"] * 7 % 40) / 40, among).verdict.verdict == "holds"
    opposite = _decided(case, lambda row: against[row["task"]] * (row["seed"] * 7 % 40) / 40, among)
    assert opposite.verdict.verdict == "the opposite holds"


def test_products_of_ranks_say_nothing_where_there_is_nothing() -> None:
    """Their mean is 0, their variance 1, and one says nothing of the next: what the verdicts rest on."""
    import numpy as np

    rng = np.random.default_rng(5)
    series = [[number for _, number in concordant(rng.normal(size=(12, 2)).tolist())] for _ in range(3000)]
    table = np.array(series)
    assert np.abs(table.mean(axis=0)).max() < 0.08
    assert table.var(axis=0) == pytest.approx(np.ones(11), abs=0.15)
    assert np.abs(np.corrcoef(table[:, 3:].T) - np.eye(8)).max() < 0.08


def test_an_analysis_is_read_layer_by_layer() -> None:
    among = [{**row, "model.layers": 3} for row in rows(task=["sst2"])]
    (case,) = found(
        "{rises: layer, metric: weights.distance, where: {module: feedforward.output.weight}}", among, "task", "seed"
    )
    at = (("layer", 2), ("module", "feedforward.output.weight"))
    assert Reading("task=sst2 0", "weights.distance", at) in case.rounds[0][1][1].readings
    assert not case.in_points
    assert numbers(case, lambda row: row["layer"] ** 2, among) == pytest.approx([1.0] * 3)


def test_a_course_is_read_epoch_by_epoch() -> None:
    among = [{**row, "training.epochs": 5} for row in rows(k=[0, 6])]
    (case,) = found("{more: {epoch: 5}, than: {epoch: 3}, over: k, metric: course.score}", among, "k", "seed")
    assert case.in_points and case.rounds[0][1][0].readings[0].metric == "course.accuracy"
    assert numbers(case, lambda row: row["epoch"] / 100, among) == pytest.approx([2.0] * 3)
    assert found("{more: {epoch: 6}, than: {epoch: 3}, over: k, metric: course.score}", among, "k", "seed") == []


def test_a_round_without_a_defined_score_has_no_number() -> None:
    among = rows(4, k=[0, 6])
    (case,) = found("{more: {k: 6}, than: {k: 0}}", among, "k", "seed")
    decided = _decided(case, lambda row: math.nan if row["seed"] == 1 and row["k"] else row["k"] / 100, among)
    assert decided.numbers == pytest.approx((6, 6, 6)) and decided.undefined == 1 and decided.rounds == (0, 1, 2, 3)
    assert math.isnan(number_of(case, [math.nan, 0.5]))


def test_a_case_is_written_down_and_read_again(tmp_path: Any) -> None:
    among = [{**row, "model.layers": 3} for row in rows(task=["sst2", "cola"], k=[0, 6])]
    for text in (
        "{more: {k: 6}, than: {k: 0}}",
        "{correlated: {task: [sst2, cola]}}",
        "{rises: layer, metric: attention.similarity, where: {k: 6}}",
    ):
        for case in found(text, among, "task", "k", "seed"):
            write_json(tmp_path / "case.json", case.as_dict())
            assert case_of(read_json(tmp_path / "case.json")) == case


def test_true_is_not_one() -> None:
    among = rows(flag=[True, False], k=[1, 0])
    (case,) = found("{more: {flag: true}, than: {flag: false}, where: {k: 1}}", among, "flag", "k", "seed")
    assert case.trials == {f"flag={flag} k=1 {number}" for flag in (True, False) for number in range(3)}
    assert found("{more: {k: true}, than: {k: 0}}", among, "flag", "k", "seed") == []


def test_the_step_of_a_rank_correlation_is_that_of_one_exchange() -> None:
    among = rows(k=[0, 3, 6, 9])
    (case,) = found("{rises: k}", among, "k", "seed")
    exchanged = rank_correlation([0, 3, 6, 9], [0, 1, 3, 2])
    assert 1 - exchanged == pytest.approx(step_of(case, 0.01))
