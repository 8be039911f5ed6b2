"""The axes of the schemes: keys that stand at the top of a config, because people type `k=3`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Axis:
    """A key of one scheme or of several; null where none of them is chosen."""

    name: str
    type: Any  # int | None, bool | None, or Any where lists are allowed
    label: str  # what figures call it
    counts: str | None = None  # layers, heads: a grid may then say L or H
    values: Mapping[Any, str] = field(default_factory=dict, hash=False)  # what figures call its values, if not as typed


AXES: dict[str, Axis] = {}  # of all schemes, in the order in which trials/schemes/ declares them


def declare(axis: Axis) -> None:
    """Adds an axis to the schema. Schemes may share one, and must then mean the same by it."""
    if AXES.setdefault(axis.name, axis) != axis:
        raise ValueError(f"two schemes declare the axis {axis.name} differently")
