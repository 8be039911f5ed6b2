"""A sweep: the union of products that a command line and an experiment ask for, as a list of trials."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from itertools import product
from typing import Any, cast

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bertxfer.config import Config, Runtime
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.identity import Trial, trial_of


@dataclass(frozen=True)
class Sweep:
    """What a multirun asks for: distinct trials, and how they are to be run."""

    trials: list[Trial]
    runtime: Runtime
    name: str = "sweep"


Axes = dict[str, list[str]]  # key -> the overrides it takes one after another
Compose = Callable[[Sequence[str]], DictConfig]


def axes_of(overrides: Sequence[str]) -> Axes:
    """The axes of a command line: each override with all that it sweeps over."""
    axes: Axes = {}
    for override in _parse(tuple(overrides)):
        axes[override.get_key_element()] = _values(override)
    return axes


def grid_axes(grid: Mapping[str, Any]) -> Axes:
    """The axes of a grid in an experiment file: a value, a list of values, or what Hydra sweeps (`range(0,13)`)."""
    words = []
    for key, value in grid.items():
        if isinstance(value, (list, tuple)):
            words.append(f"{key}={','.join(_word(item) for item in value)}")
        else:
            words.append(f"{key}={_word(value)}")
    return axes_of(words)


def points(command_line: Axes, grids: Sequence[Axes]) -> list[tuple[str, ...]]:
    """All combinations, grid by grid. What the command line says replaces what a grid says of the same key."""
    found: dict[tuple[str, ...], None] = {}
    for grid in grids or [{}]:
        axes = {**grid, **command_line}
        for point in product(*axes.values()):
            found[point] = None
    return list(found)


def configs(points: Iterable[tuple[str, ...]], compose: Compose, is_group: Callable[[str], bool]) -> Iterable[Config]:
    """The config of each point. Choices of groups are composed once (150 ms), plain values merged in (1 ms)."""
    composed: dict[tuple[str, ...], DictConfig] = {}
    for point in points:
        heavy: list[tuple[str, Override]] = []
        light: list[tuple[str, Override]] = []
        for word in point:
            override = _parse((word,))[0]
            plain = not (override.is_add() or override.is_delete() or is_group(override.key_or_group))
            (light if plain else heavy).append((word, override))
        choice = tuple(word for word, _ in heavy)
        if choice not in composed:
            composed[choice] = compose(choice)
            OmegaConf.set_struct(composed[choice], True)
        yield config_with(composed[choice], [override for _, override in light])


def config_with(composed: DictConfig, overrides: Sequence[Override] = ()) -> Config:
    """A composed config with plain values merged in, as an object of the schema."""
    cfg = composed.copy()
    for override in overrides:
        OmegaConf.update(cfg, override.key_or_group, override.value(), merge=True)
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


def sweep_of(overrides: Sequence[str], compose: Compose, is_group: Callable[[str], bool]) -> Sweep:
    """Every distinct trial that the words of a multirun mean. Trials with the same id are one."""
    command_line = axes_of(overrides)
    wanted = points(command_line, _experiment_grids(command_line, compose))
    trials: dict[str, Trial] = {}
    runtimes = []
    for config in configs(wanted, compose, is_group):
        trial = trial_of(config)
        trials[trial.id] = trial
        runtimes.append(config.runtime)
    if any(runtime != runtimes[0] for runtime in runtimes):
        raise ConfigError("runtime", "is not an axis: it changes no result, so all trials of a sweep share it")
    return Sweep(list(trials.values()), runtimes[0], _name(command_line))


def _experiment_grids(command_line: Axes, compose: Compose) -> list[Axes]:
    chosen = command_line.get("experiment")
    if chosen is None:
        return []
    if len(chosen) > 1:
        raise ConfigError("experiment", "one sweep runs one experiment; start one command for each")
    grids = compose(chosen).get("grids")
    if grids is None:
        return []
    plain = OmegaConf.to_container(grids)
    if not isinstance(plain, list) or not all(isinstance(grid, dict) for grid in plain):
        raise ConfigError("grids", "is a list of grids, each a mapping of keys to values")
    return [grid_axes(grid) for grid in plain]


def _name(command_line: Axes) -> str:
    chosen = command_line.get("experiment")
    return "sweep" if chosen is None else chosen[0].split("=", 1)[1]


@lru_cache(maxsize=4096)
def _parse(words: tuple[str, ...]) -> list[Override]:
    return OverridesParser.create().parse_overrides(list(words))


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
