"""Estimates: from like trials where there are any, a guess where there are only others, no number where none."""

import json
from pathlib import Path

import pytest
import yaml

from bertxfer.review import costs
from bertxfer.review.costs import Timing, Work
from bertxfer.store.store import Store
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed

LIKE = Work("m", "t", 500, 5)


def test_like_trials_give_their_median_on_the_device_of_most() -> None:
    timings = [Timing(LIKE, seconds, "cpu") for seconds in (10.0, 30.0, 11.0)] + [Timing(LIKE, 1.0, "gpu")]
    found = costs.estimate(LIKE, timings)
    assert (found.seconds, found.like) == (11.0, True)
    assert "on cpu" in found.basis


def test_others_of_the_model_are_scaled_by_rows_and_epochs_and_called_a_guess() -> None:
    timings = [
        Timing(LIKE, 10.0, "cpu"),
        Timing(Work("m", "t", 50, 5), 3.0, "cpu"),
        Timing(Work("m", "u", 4000, 5), 1.0, "cpu"),
    ]
    found = costs.estimate(Work("m", "t", 5000, 3), timings)
    assert found.seconds == pytest.approx(10.0 * 5000 * 3 / (500 * 5))
    assert not found.like
    assert "a guess, scaled from t, n=500" in found.basis
    assert costs.estimate(Work("m", "new", 500, 5), timings[:1]).seconds == 10.0
    assert costs.estimate(Work("m", "t", 500, 5, "probe"), timings).seconds is None


def test_without_a_timing_of_the_model_there_is_no_number() -> None:
    found = costs.estimate(Work("big", "t", 500, 5), [Timing(LIKE, 10.0, "cpu")])
    assert found.seconds is None
    assert costs.estimate(Work("m", "t", None, 5), [Timing(LIKE, 10.0, "cpu")]).seconds is None
    lines = costs.sentences(costs.bill([Work("big", "t", 500, 5)], []))
    assert "no estimate" in lines[0]


def test_a_bill_says_what_is_known_how_well() -> None:
    works = [LIKE, LIKE, Work("m", "t", 1000, 5), Work("big", "t", 500, 5)]
    cost = costs.bill(works, [Timing(LIKE, 3600.0, "cpu")])
    assert (cost.like_trials, cost.like_seconds) == (2, 7200.0)
    assert (cost.guessed_trials, cost.guessed_seconds) == (1, 7200.0)
    assert cost.unknown_trials == 1
    first, second, *_ = costs.sentences(cost, workers=2)
    assert first == "time: about 4.0 h of one worker, 2.0 h with 2 workers (partly a guess)"
    assert second == "not in it: 1 trials without a similar one in the store"


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4, "4 s"), (119, "119 s"), (121, "2.0 min"), (7300, "2.0 h"), (90_000, "25 h"), (1e6, "12 days")],
)
def test_durations(seconds: float, said: str) -> None:
    assert costs.duration(seconds) == said


def test_timings_are_read_off_the_store(tmp_path: Path) -> None:
    """Dev scores are part of the training's seconds; a resumed trial knows only its last attempt."""
    store = Store(tmp_path)
    for seed, resumed in ((0, None), (1, 40)):
        trial = trial_of(composed(f"seed={seed}", "data.n=16", "training.epochs=3"))
        folder = store.folder(trial.id)
        folder.mkdir(parents=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(trial.science.as_dict()))
        result = {"id": trial.id, "score": 0.5, "model": "mini", "task": "mini_sst2", "n_train": 16, "epochs": 3}
        result |= {"resumed_at_step": resumed, "environment": {"device": "cpu"}}
        result |= {"timings": {"load": 1.0, "treat": 0.5, "evaluate": 2.0, "train": 6.0}}
        (folder / "result.json").write_text(json.dumps(result))
    (tmp_path / "trials" / "torn").mkdir()
    (tmp_path / "trials" / "torn" / "result.json").write_text("{")
    assert costs.timings_in(store, {"mini"}) == [Timing(Work("mini", "mini_sst2", 16, 3), 7.5, "cpu")]
    assert costs.timings_in(store, {"other"}) == []
