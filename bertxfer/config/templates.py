"""A composed config as a template: plain values are exchanged in it without composing again, and to the same effect."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Any

from hydra.core.override_parser.types import Override
from omegaconf import DictConfig, OmegaConf

from bertxfer.config.schema import Config


class Template:
    """The configs of all points that choose the same groups and set the same keys.

    The first one is made by OmegaConf, which takes 5 ms. In the others only the values of these keys differ, so
    OmegaConf converts and checks each value once, and it is put into a copy of the first. Where a value could reach
    another key, through an interpolation, every config is made by OmegaConf.
    """

    def __init__(self, cfg: DictConfig, keys: Sequence[str]) -> None:
        self._cfg = cfg
        OmegaConf.set_struct(cfg, True)
        self._plain = not _reached(cfg, keys)
        self._first: Config | None = None
        self._converted: dict[tuple[str, str], Any] = {}
        self._parts: dict[tuple[tuple[str, str], ...], Any] = {}  # equal parts are one object, cheap to compare

    def config(self, overrides: Sequence[Override]) -> Config:
        values = {override.key_or_group: override.value() for override in overrides}
        plain = self._plain and not any("${" in repr(value) for value in values.values())
        if plain and self._first is not None:
            return self._exchanged(self._first, values)
        for key, value in values.items():
            OmegaConf.update(self._cfg, key, value)
        config = OmegaConf.to_object(self._cfg)
        assert isinstance(config, Config)
        if plain:
            self._first = dataclasses.replace(config)
        return config

    def _exchanged(self, first: Config, values: dict[str, Any]) -> Config:
        by_part: dict[str, dict[str, Any]] = {}
        for key, value in values.items():
            by_part.setdefault(key.split(".")[0], {})[key] = value
        changes = {}
        for name, of_part in by_part.items():
            spelled = tuple((key, repr(value)) for key, value in of_part.items())
            if spelled not in self._parts:
                part = getattr(first, name)
                for key, value in of_part.items():
                    part = _with(part, key.split(".")[1:], self._convert(key, value))
                self._parts[spelled] = part
            changes[name] = self._parts[spelled]
        return dataclasses.replace(first, **changes)

    def _convert(self, key: str, value: Any) -> Any:
        spelled = (key, repr(value))
        if spelled not in self._converted:
            OmegaConf.update(self._cfg, key, value)
            converted = OmegaConf.select(self._cfg, key)
            self._converted[spelled] = OmegaConf.to_object(converted) if OmegaConf.is_config(converted) else converted
        return self._converted[spelled]


def _with(node: Any, names: Sequence[str], value: Any) -> Any:
    """A copy in which the value stands under these names."""
    if not names:
        return value
    if isinstance(node, dict):
        return {**node, names[0]: _with(node.get(names[0]), names[1:], value)}
    return dataclasses.replace(node, **{names[0]: _with(getattr(node, names[0]), names[1:], value)})


def _reached(cfg: DictConfig, keys: Sequence[str]) -> bool:
    """Whether an interpolation may read one of the keys: it names a part of it, or what it names is computed."""
    interpolations = [text for text in _texts(OmegaConf.to_container(cfg, resolve=False)) if "${" in text]
    names = {name for key in keys for name in key.split(".")}
    return any(text.count("${") > 1 or names & set(re.findall(r"\w+", text)) for text in interpolations)


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _texts(item)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []
