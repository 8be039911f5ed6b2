"""Configs as objects of the schema: one from what Hydra composed, or thousands, one for each point of a sweep."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Protocol, cast

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bertxfer.config.overrides import parsed
from bertxfer.config.schema import Config, Task, schema
from bertxfer.config.stages import stages_of
from bertxfer.config.templates import Template
from bertxfer.errors import ConfigError


class Composes(Protocol):
    """What is needed of Hydra to turn overrides into configs."""

    @property
    def loader(self) -> ConfigLoader: ...

    def compose(self, overrides: Sequence[str]) -> DictConfig: ...

    def is_group(self, name: str) -> bool: ...


def configs(points: Iterable[tuple[str, ...]], composer: Composes) -> Iterable[Config]:
    """The config of each point. Choices of groups are composed once (150 ms), plain values are exchanged (0.1 ms)."""
    templates: dict[tuple[str, ...], Template] = {}
    kinds: dict[str, bool] = {}  # of each word: a few make up all points
    task_named = task_finder(composer.compose)
    for point in points:
        heavy: list[str] = []
        light: list[Override] = []
        for word in point:
            override = parsed(word)
            if word not in kinds:
                kinds[word] = _is_heavy(override, composer)
            (heavy.append(word) if kinds[word] else light.append(override))
        keys = [override.key_or_group for override in light]
        shared = (*heavy, *keys)
        if shared not in templates:
            cfg = composer.compose(heavy)
            _refuse_added_keys(cfg, schema(), "")
            templates[shared] = Template(cfg, keys)
        yield with_stages(templates[shared].config(light), task_named)


def _is_heavy(override: Override, composer: Composes) -> bool:
    """Whether an override needs Hydra: it adds or deletes keys, chooses a group, or is a mapping, which is merged."""
    adds = override.is_add() or override.is_force_add() or override.is_delete()
    return adds or isinstance(override.value(), dict) or composer.is_group(override.key_or_group)


def config_with(cfg: DictConfig, task_named: Callable[[str], Task]) -> Config:
    """A composed config as an object of the schema; the tasks that `intermediate` names are found by `task_named`."""
    _refuse_added_keys(cfg, schema(), "")
    config = OmegaConf.to_object(cfg)
    assert isinstance(config, Config)
    return with_stages(config, task_named)


def with_stages(config: Config, task_named: Callable[[str], Task]) -> Config:
    """The config with the tasks that `intermediate` names in place of their names."""
    return replace(config, intermediate=stages_of(config, task_named))


def task_finder(compose: Callable[[Sequence[str]], DictConfig]) -> Callable[[str], Task]:
    """Tasks by name, each composed once."""

    @cache
    def task_named(name: str) -> Task:
        task = OmegaConf.to_object(compose([f"task={name}"]).task)
        assert isinstance(task, Task)
        return task

    return task_named


def _refuse_added_keys(node: DictConfig, part: type, prefix: str) -> None:
    """`+key=value` makes Hydra accept a key that nothing reads."""
    known = {field.name: field.type for field in fields(part)}
    for key in node:
        if key not in known:
            raise ConfigError(f"{prefix}{key!s}", "there is no such key; `--cfg job` shows them all")
        if is_dataclass(known[key]):
            _refuse_added_keys(node[key], cast(type, known[key]), f"{prefix}{key!s}.")
