"""What differs between what was run and what the paper's experiment asks for, setting by setting."""

from collections.abc import Mapping, Sequence
from typing import Any

from bertxfer.report import words
from bertxfer.report.contents import Grid, few
from bertxfer.sweeps import columns
from bertxfer.sweeps.sweep import Point
from bertxfer.trials.trial import Trial

# What says nothing that another row does not: digests, the files of tasks and models, and treatments, which are axes.
_LEFT_OUT = ("id", "seed", "task", "treatment_text", "treatment", "seeds", "version")
_NAMES = {"model.name": "model", "task.name": "tasks", "data.n": "data.n", "seeds.order": "seeds"}
_OF_INPUTS = ("task.", "model.")  # of these only the names


def from_paper(points: Sequence[Point], paper: Sequence[Point]) -> Grid:
    """A row for each key whose values are not those of the paper's experiment."""
    ours, theirs = _values(points), _values(paper)
    rows = []
    for key in dict.fromkeys([*ours, *theirs]):
        here, there = ours.get(key, {}), theirs.get(key, {})
        if set(here) != set(there):
            rows.append([_NAMES.get(key, key), _told(key, here), _told(key, there)])
    return Grid(["setting", "here", "in the paper's experiment"], rows)


def _told(key: str, values: Mapping[str, Any]) -> str:
    named = [words.task(str(v)) if key == "task.name" else v for v in values.values()]
    return f"{few(named)} ({len(named)})" if key == "seeds.order" else few(named) if named else "not asked for"


def _values(points: Sequence[Point]) -> dict[str, dict[str, Any]]:
    """Every key with its values, those of the axes and those of the settings."""
    found: dict[str, dict[str, Any]] = {}
    unlike: dict[str, Trial] = {}  # a place of many seeds is looked at once
    for point in points:
        unlike.setdefault(str([item for item in point.axes.items() if item[0] != "seed"]), point.trial)
        seed = point.trial.science.seeds["order"]
        found.setdefault("seeds.order", {})[str(seed)] = seed
    for trial in unlike.values():
        for key, value in columns.of_trial(trial).items():
            if _counts(key) and key != "seeds.order":
                found.setdefault(key, {})[str(value)] = value
    for point in points:
        for key, value in point.axes.items():
            if "." not in key and key not in ("task", "seed", "model", "scheme") and value is not None:
                found.setdefault(key, {})[str(value)] = value
    return found


def _counts(key: str) -> bool:
    if key in _NAMES:
        return True
    return not key.startswith(_OF_INPUTS) and not any(part in _LEFT_OUT for part in key.split("."))
