"""Errors that a user can act on: one sentence, the config key, what would be right."""

from collections.abc import Mapping
from typing import Any


class BertxferError(Exception):
    """Anything reported to the user without a traceback; `status` is what the process then exits with."""

    status = 1


class ConfigError(BertxferError):
    """A value of the config that cannot be run, with the key that holds it, and the axes of its place in a sweep."""

    status = 2
    axes: Mapping[str, Any] | None = None

    def __init__(self, key: str, message: str) -> None:
        super().__init__(f"{key}: {message}")
        self.key, self.message = key, message


class Absent(ConfigError):
    """A file or folder that the config names and that is not on this machine."""


class NotFetched(Absent):
    """What the config names on the hub and what was not brought to this machine yet."""


class DataError(BertxferError):
    """A data set that cannot be used, with the file and the line."""

    def __init__(self, location: object, message: str) -> None:
        super().__init__(f"{location}: {message}")


class Interrupted(Exception):
    """A trial was told to stop and has saved a checkpoint: `at` which step, and how many `steps` it took itself."""

    def __init__(self, at: int, steps: int) -> None:
        super().__init__(f"interrupted at step {at}")
        self.at, self.steps = at, steps


class ArtifactGone(Exception):
    """What a trial was to begin with was evicted or damaged after the trial was taken; it is made again first."""


class TrialError(BertxferError):
    """A trial that started and could not end in a result."""


class TrialsFailed(TrialError):
    """A sweep that ended with failed trials in it."""
