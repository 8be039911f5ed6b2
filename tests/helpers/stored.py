"""Results written as a trial writes them, with scores that the test chooses, so that what a table must say is known."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed

FIRST_RELEASE = Path(__file__).parents[1] / "store" / "fixtures" / "store-v1"  # an output folder that it wrote


def point(*words: str, **axes: Any) -> Point:
    """The place that these words and axes mean; axes are also said as words. `data__n` is data.n."""
    axes = {key.replace("__", "."): value for key, value in axes.items()}
    said = [f"{key}={'null' if value is None else value}" for key, value in axes.items()]
    return Point(axes, trial_of(composed(*words, *said)))


def finish(place: Point, store: Store, score: float | None, **more: Any) -> None:
    """The result of a trial that ended with this score."""
    result = {
        "id": place.trial.id,
        "score": score,
        "headline": place.trial.headline,
        "metrics": {place.trial.headline: score},
        "model": place.trial.science.model.name,
        "task": place.trial.science.task.name,
        "resumed_at_step": None,
        "n_train": 16,
        "n_dev": 8,
        "steps": 2,
        "epochs": 1,
        "timings": {"load": 0.5, "train": 1.0, "evaluate": 0.25},
        "environment": {"device": "cpu"},
    }
    store.begin(place.trial)
    store.finish(place.trial, {**result, **more})


def finish_two_epochs(store: Store) -> tuple[str, list[dict[str, Any]]]:
    """A trial of two epochs with one undefined score, and its history."""
    trial = point("scheme=incremental", k=3).trial
    history = [
        {"step": 1, "loss": 0.75, "lr": 0.5},
        {"step": 1, "epoch": 1, "matthews": float("nan"), "accuracy": 0.5},
        {"step": 2, "loss": 0.25, "lr": 0.125},
        {"step": 2, "epoch": 2, "matthews": 0.5, "accuracy": 0.625},
    ]
    result = {"id": trial.id, "score": None, "metrics": {"accuracy": 0.625, "matthews": None}, "n_train": 16}
    store.begin(trial)
    store.record(trial, result, {"index": [0]}, history)
    return trial.id, history


def seeds_of(place: Point, seeds: Sequence[int]) -> list[Point]:
    """The same place for several seeds, without composing each anew."""
    science = place.trial.science
    found = []
    for seed in seeds:
        other = dataclasses.replace(science, seeds=dict.fromkeys(science.seeds, seed))
        trial = dataclasses.replace(place.trial, id=other.id, science=other)
        found.append(Point({**place.axes, "seed": seed}, trial))
    return found


def stored(places: Sequence[Point], root: Path, score: Callable[[Point], float | None]) -> Store:
    store = Store(root)
    for place in places:
        finish(place, store, score(place))
    return store
