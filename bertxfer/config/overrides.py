"""Overrides as axes: every word of a command line or of a grid with all the values that it sweeps over."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override

from bertxfer.config.grids import Axes, is_until, tied
from bertxfer.errors import BertxferError


def axes_of(overrides: Sequence[str], loader: ConfigLoader | None = None) -> Axes:
    """The axes of a command line: each override with all that it sweeps over. `glob` asks the loader what there is."""
    parsed = OverridesParser.create(config_loader=loader).parse_overrides(list(overrides))
    return {override.get_key_element(): _values(override) for override in parsed}


def grid_axes(grid: Mapping[str, Any], loader: ConfigLoader | None = None) -> Axes:
    """The axes of a grid in an experiment file: a value, a list of values, or what Hydra sweeps (`range(0,13)`)."""
    words = []
    for key, value in grid.items():
        if isinstance(value, (list, tuple)):
            words.append(f"{key}={','.join(_word(item) for item in value)}")
        else:
            words.append(f"{key}={_word(value)}")
    return axes_of(words, loader)


def of_trials(axes: Axes) -> Axes:
    """Without what says only how results are drawn."""
    return {key: words for key, words in axes.items() if not is_drawing(key)}


def is_drawing(key: str) -> bool:
    return key.split(".")[0] in ("figure", "error_bars")


def holds(grid: Mapping[str, Any], axes: Mapping[str, Any]) -> bool:
    """Whether the place with these axes is in a grid."""
    return all(
        key in axes and axes[key] in [parsed(word).value() for word in words] for key, words in grid_axes(grid).items()
    )


def points(grids: Sequence[Axes]) -> list[tuple[str, ...]]:
    """All combinations, grid by grid, each once."""
    return list(dict.fromkeys(point for grid in grids for point in map(tied, product(*grid.values()))))


def _values(override: Override) -> list[str]:
    key = override.get_key_element()
    if override.is_delete() or override.value() is None or not override.is_sweep_override():
        return [str(override.input_line)]
    values = [f"{key}={value}" for value in override.sweep_string_iterator()]
    if not values:
        raise BertxferError(f"{key}: {override.input_line} sweeps over nothing")
    return values


def _word(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(_word(item) for item in value) + "]"
    return f"'{str(value).strip()}'" if is_until(str(value)) else str(value)


def as_axes(words: Sequence[str]) -> dict[str, Any]:
    """The axes of a place as plain data."""
    overrides = [parsed(word) for word in words]
    return {override.key_or_group: override.value() for override in overrides if not override.is_delete()}


@lru_cache(maxsize=4096)
def parsed(word: str) -> Override:
    """An override of a point; a few words make up all points, and parsing one takes a millisecond."""
    return OverridesParser.create().parse_override(word)
