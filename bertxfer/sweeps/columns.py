"""The columns of a place: its axes as typed, and its trial's scientific config flat. Tables, figures and claims choose
by them."""

from typing import Any

from bertxfer.sweeps.sweep import Point
from bertxfer.trials import chains
from bertxfer.trials.science import cell, flatten
from bertxfer.trials.trial import Trial


def of_trial(trial: Trial) -> dict[str, Any]:
    """Columns that every place of a trial has, typed or not: pairing and facets need `task` and `seed`."""
    plain = trial.science.as_dict()
    flat = {"id": trial.id, "treatment_text": chains.describe(trial.science), **flatten(plain)}
    if plain["data"]["n"] is None and plain["data"]["fraction"] is None:
        flat["data.n"] = "all"
    return {"task": trial.science.task.name, "seed": trial.science.seeds["order"], **flat}


def typed_at(point: Point) -> dict[str, Any]:
    """The axes as they were typed, but for what the trial knows better: a stream that it does not draw from has no seed
    whatever was typed, and a model is called by its own name, not by that of the file that chose it.
    """
    known_better = [key for key in point.axes if key == "model" or key.startswith("seeds.")]
    return {key: cell(value) for key, value in point.axes.items() if value is not None and key not in known_better}
