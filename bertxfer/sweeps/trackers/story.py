"""What trackers are given: a finished trial, its settings, its course and its outcome."""

from dataclasses import dataclass
from typing import Any

Values = dict[str, float]


@dataclass(frozen=True)
class Story:
    """A finished trial as a tracker shows it."""

    id: str
    title: str
    settings: dict[str, Any]  # flat, with plain values
    course: dict[int, Values]  # what was measured, by step (a probe: by epoch)
    outcome: Values  # the score and the final metrics; what is undefined is left out
