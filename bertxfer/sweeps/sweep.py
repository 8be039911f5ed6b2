"""A sweep: a list of trials, and the places in grids that mean them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from bertxfer.claims.case import Case
from bertxfer.config.schema import ArtifactSettings, Runtime
from bertxfer.trials.trial import Trial


@dataclass(frozen=True)
class Point:
    """A place in the grids: what every axis says there, and the trial that it means. Two places may mean one trial."""

    axes: dict[str, Any]
    trial: Trial


@dataclass(frozen=True)
class Sweep:
    """What a multirun asks for, place by place, and how it is to be run."""

    points: list[Point]
    runtime: Runtime
    artifacts: ArtifactSettings
    name: str = "sweep"
    cases: tuple[Case, ...] = ()  # of the experiment's claims
    until_decided: bool = False  # rounds are only run while a claim needs them

    @property
    def trials(self) -> list[Trial]:
        """The distinct trials."""
        return distinct(point.trial for point in self.points)


def distinct(trials: Iterable[Trial]) -> list[Trial]:
    """Each trial once, with all that is wanted of it."""
    once: dict[str, Trial] = {}
    for trial in trials:
        known = once.get(trial.id, trial)
        outputs = tuple(sorted({*known.outputs, *trial.outputs}))
        metrics = tuple(dict.fromkeys([*known.metrics, *trial.metrics]))
        once[trial.id] = replace(known, outputs=outputs, metrics=metrics)
    return list(once.values())
