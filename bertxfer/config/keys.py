"""What a key says about itself where it is declared: its choices, its range, what it counts, when ids leave it out.

Each function here makes the default of a dataclass's field. The checks, the grids and the ids read it off the field.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import Field, dataclass, field
from functools import lru_cache
from typing import Any

from bertxfer.errors import ConfigError

_LARGEST = 1e300  # also for whole numbers, which have no limit of their own


@dataclass(frozen=True)
class Range:
    """From `low` to `high`; a value must lie `above` the one or `below` the other where that end is not allowed."""

    low: float
    high: float | None = None
    above: bool = False
    below: bool = False
    unit: str = ""

    def refuse(self, key: str, value: float) -> None:
        if not -_LARGEST < value < _LARGEST:
            raise ConfigError(key, f"{value} is not a finite number")
        too_low = value <= self.low if self.above else value < self.low
        too_high = self.high is not None and (value >= self.high if self.below else value > self.high)
        if too_low or too_high:
            raise ConfigError(key, f"{value} is out of range; it must be {self}")

    def __str__(self) -> str:
        bound = f"{'more than' if self.above else 'at least'} {self.low:g}"
        return bound if self.high is None else f"{bound} and {'less than' if self.below else 'at most'} {self.high:g}"


def choice(default: Any, *options: str | None, numbered: str | None = None) -> Any:
    """One of these words. The one that is `numbered` may carry a number behind a colon: cuda:1."""
    return field(default=default, metadata={"options": options, "numbered": numbered})


def ranged(default: Any, low: float, high: float | None = None, *, above: bool = False, below: bool = False) -> Any:
    """A number within a range; null is allowed if the key can be null."""
    return field(default=default, metadata={"range": Range(low, high, above, below)})


def whole(default: Any, unit: str = "") -> Any:
    """A whole number from 1; null is allowed if the key can be null."""
    return field(default=default, metadata={"whole": True, "range": Range(1, unit=unit)})


def counting(default: Any, counts: str) -> Any:
    """A number of layers or heads of the model, which decides its range; a grid may say L or H for all of them."""
    return field(default=default, metadata={"counts": counts})


def outputs(*names: str) -> Any:
    """What a trial may leave beside its result: one of these names or a list of them."""
    return field(default=None, metadata={"outputs": {name: name for name in names}})


def leaving(default: str, **outputs: str | None) -> Any:
    """One of these words, each with what a trial then leaves beside its result. Ids leave out which it was."""
    return field(default=default, metadata={"options": tuple(outputs), "outputs": outputs, "later": True, "before": {}})


def later(default: Any, before: Mapping[int, Any] | None = None, limits: Range | None = None) -> Any:
    """A setting that was added when there were results already.

    Where it has its default, ids leave it out, so that older ids stay what they were; and a stored config without it is
    read with the default. `before` says what the code did before a semantics, where that was different: {2: False}.
    """
    return field(default=default, metadata={"later": True, "before": dict(before or {}), "range": limits})


def until(semantics: int) -> Any:
    """A setting that was part of ids before a semantics and is not since: it says nothing about a result.

    Only configs that were stored before that have it; for all others it is null.
    """
    return field(default=None, metadata={"until": semantics})


def left_out(kind: type, semantics: int) -> dict[str, Any]:
    """The fields of a dataclass that ids leave out, each with the value at which it is left out."""
    came_later, gone = _changed_fields(kind)  # type: ignore[arg-type]
    return {
        **{spec.name: _default_under(spec, semantics) for spec in came_later},
        **{spec.name: None for spec in gone if semantics >= spec.metadata["until"]},
    }


@lru_cache(maxsize=64)
def _changed_fields(kind: type) -> tuple[list["Field[Any]"], list["Field[Any]"]]:
    """Those that came later, and those that are gone."""
    specs = dataclasses.fields(kind)
    return [spec for spec in specs if spec.metadata.get("later")], [spec for spec in specs if "until" in spec.metadata]


def _default_under(spec: "Field[Any]", semantics: int) -> Any:
    earlier = [value for since, value in sorted(spec.metadata["before"].items()) if semantics < since]
    return earlier[0] if earlier else spec.default


def check(settings: Any, prefix: str = "") -> None:
    """Raises ConfigError for the first value, in a dataclass and those within it, that its key does not allow."""
    for key, spec in _declared(type(settings)):  # type: ignore[arg-type]
        value: Any = settings
        for name in key.split("."):
            value = getattr(value, name)
        refuse(f"{prefix}{key}", value, spec)


def refuse(key: str, value: Any, spec: "Field[Any]") -> None:
    """Raises ConfigError if the field does not allow the value."""
    options: Sequence[str | None] | None = spec.metadata.get("options")
    if options is not None and value not in options and not _is_numbered(value, spec.metadata.get("numbered")):
        known = ", ".join("null" if option is None else option for option in options)
        raise ConfigError(key, f"{value!r} is not one of {known}")
    limits: Range | None = spec.metadata.get("range")
    if limits is None:
        return
    if value is None:
        if spec.type in (int, float):
            raise ConfigError(key, "has no value; give a number")
        return
    if spec.metadata.get("whole") and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise ConfigError(key, f"{value!r} is not a whole number{limits.unit and f' of {limits.unit}'} from 1")
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ConfigError(key, f"{value!r} is not a number")
    limits.refuse(key, value)


def counting_keys(schema: type) -> dict[str, str]:
    """The keys that count layers or heads, and which of the two."""
    return {key: spec.metadata["counts"] for key, spec in _declared(schema) if spec.metadata.get("counts")}


def outputs_of(schema: type) -> dict[str, dict[str, str | None]]:
    """The keys that say what a trial leaves beside its result: for each of their words, the name of that."""
    return {key: spec.metadata["outputs"] for key, spec in _declared(schema) if "outputs" in spec.metadata}


def _is_numbered(value: Any, stem: str | None) -> bool:
    return stem is not None and isinstance(value, str) and re.fullmatch(rf"{stem}:\d+", value) is not None


@lru_cache(maxsize=64)
def _declared(schema: type) -> tuple[tuple[str, "Field[Any]"], ...]:
    return tuple(_walk(schema, ""))


def _walk(schema: type, prefix: str) -> Iterator[tuple[str, "Field[Any]"]]:
    for spec in dataclasses.fields(schema):
        if spec.metadata:
            yield f"{prefix}{spec.name}", spec
        elif isinstance(spec.type, type) and dataclasses.is_dataclass(spec.type) and spec.default is NO_DEFAULT:
            yield from _walk(spec.type, f"{prefix}{spec.name}.")
