"""A sweep: the union of products that a command line and an experiment ask for, as a list of trials."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Protocol, cast

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bertxfer.config import Config, Runtime
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.identity import Trial, trial_of
from bertxfer.inputs import Inputs
from bertxfer.templates import Template


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
    name: str = "sweep"

    @property
    def trials(self) -> list[Trial]:
        """The distinct trials."""
        return list({point.trial.id: point.trial for point in self.points}.values())


Axes = dict[str, list[str]]  # key -> the overrides it takes one after another


class Composer(Protocol):
    """What a sweep needs of Hydra."""

    @property
    def loader(self) -> ConfigLoader: ...

    def compose(self, overrides: Sequence[str]) -> DictConfig: ...

    def is_group(self, name: str) -> bool: ...


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


def holds(grid: Mapping[str, Any], axes: Mapping[str, Any]) -> bool:
    """Whether a grid has the place where the axes say this."""
    return all(
        key in axes and axes[key] in [_parsed(word).value() for word in words] for key, words in grid_axes(grid).items()
    )


def points(command_line: Axes, grids: Sequence[Axes]) -> list[tuple[str, ...]]:
    """All combinations, grid by grid. What the command line says replaces what a grid says of the same key."""
    found: dict[tuple[str, ...], None] = {}
    for grid in grids or [{}]:
        axes = {**grid, **command_line}
        for point in product(*axes.values()):
            found[point] = None
    return list(found)


def configs(points: Iterable[tuple[str, ...]], composer: Composer) -> Iterable[Config]:
    """The config of each point. Choices of groups are composed once (150 ms), plain values are exchanged (0.1 ms)."""
    templates: dict[tuple[str, ...], Template] = {}
    for point in points:
        heavy: list[str] = []
        light: list[Override] = []
        for word in point:
            override = _parsed(word)
            (heavy.append(word) if _is_heavy(override, composer) else light.append(override))
        keys = [override.key_or_group for override in light]
        shared = (*heavy, *keys)
        if shared not in templates:
            cfg = composer.compose(heavy)
            _refuse_added_keys(cfg, Config, "")
            templates[shared] = Template(cfg, keys)
        yield templates[shared].config(light)


def _is_heavy(override: Override, composer: Composer) -> bool:
    """Whether it takes Hydra: what adds or deletes keys or chooses groups, and a mapping, which is merged."""
    adds = override.is_add() or override.is_force_add() or override.is_delete()
    return adds or isinstance(override.value(), dict) or composer.is_group(override.key_or_group)


def config_with(cfg: DictConfig) -> Config:
    """A composed config as an object of the schema."""
    _refuse_added_keys(cfg, Config, "")
    config = OmegaConf.to_object(cfg)
    assert isinstance(config, Config)
    return config


def _refuse_added_keys(node: DictConfig, schema: type, prefix: str) -> None:
    """`+key=value` makes Hydra accept a key that nothing reads."""
    known = {field.name: field.type for field in fields(schema)}
    for key in node:
        if key not in known:
            raise ConfigError(f"{prefix}{key!s}", "there is no such key; `--cfg job` shows them all")
        if is_dataclass(known[key]):
            _refuse_added_keys(node[key], cast(type, known[key]), f"{prefix}{key!s}.")


def places_of(
    overrides: Sequence[str], composer: Composer, inputs: Inputs | None = None
) -> Iterator[tuple[Point, Config]]:
    """Every place that the words of a multirun mean, with its trial, and the config that says so."""
    command_line, inputs = axes_of(overrides, composer.loader), inputs or Inputs()
    wanted = points(command_line, _experiment_grids(command_line, composer))
    for words, config in zip(wanted, configs(wanted, composer), strict=True):
        try:
            point = Point(_said(words), trial_of(config, inputs))
        except ConfigError as error:
            error.axes = _said(words)
            raise
        yield point, config


def sweep_of(overrides: Sequence[str], composer: Composer, inputs: Inputs | None = None) -> Sweep:
    """Every place that the words of a multirun mean, with its trial."""
    found, runtimes = [], []
    for point, config in places_of(overrides, composer, inputs):
        found.append(point)
        runtimes.append(config.runtime)
    if any(runtime != runtimes[0] for runtime in runtimes):
        raise ConfigError("runtime", "is not an axis: it changes no result, so all trials of a sweep share it")
    return Sweep(found, runtimes[0], _name(axes_of(overrides, composer.loader)))


def _experiment_grids(command_line: Axes, composer: Composer) -> list[Axes]:
    chosen = command_line.get("experiment")
    if chosen is None:
        return []
    if len(chosen) > 1:
        raise ConfigError("experiment", "one sweep runs one experiment; start one command for each")
    grids = composer.compose(chosen).get("grids")
    if grids is None:
        return []
    plain = OmegaConf.to_container(grids)
    if not isinstance(plain, list) or not all(isinstance(grid, dict) for grid in plain):
        raise ConfigError("grids", "is a list of grids, each a mapping of keys to values")
    return [grid_axes(grid, composer.loader) for grid in plain]


def _said(words: Sequence[str]) -> dict[str, Any]:
    """The axes of a place as plain data."""
    parsed = [_parsed(word) for word in words]
    return {override.key_or_group: override.value() for override in parsed if not override.is_delete()}


def _name(command_line: Axes) -> str:
    chosen = command_line.get("experiment")
    return "sweep" if chosen is None else chosen[0].split("=", 1)[1]


@lru_cache(maxsize=4096)
def _parsed(word: str) -> Override:
    """An override of a point; a few words make up all points, and parsing one takes a millisecond."""
    return OverridesParser.create().parse_override(word)


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
    return str(value)
