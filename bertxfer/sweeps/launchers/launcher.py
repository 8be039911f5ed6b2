"""What a launcher is: settings, and a way to have the missing trials of a sweep run."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from bertxfer.config.keys import ranged, whole
from bertxfer.sweeps.attempt import LONGEST, SHORTEST, Rules
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.queue import Queue


@dataclass(frozen=True)
class Launched:
    """How a launch was left."""

    queue: Queue
    waited_for: bool = True
    stopped: bool = False


@dataclass
class Launcher(ABC):
    """Settings that every launcher has."""

    runs_here: ClassVar[bool] = True  # on the machine of the command, so what that can do is known before
    # A worker that was not heard of for so long has lost its trial.
    stale_seconds: float = ranged(Rules.stale_seconds, SHORTEST, LONGEST)
    max_crashes: int = whole(Rules.max_crashes)  # how many processes a trial may take down before it counts as failed

    @property
    def rules(self) -> Rules:
        return Rules(self.stale_seconds, self.max_crashes)

    @abstractmethod
    def run(self, sweep: Manifest) -> Launched:
        """Has the sweep's missing trials run."""
