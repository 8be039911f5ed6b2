"""Composing without running: Hydra's loader over any folder of configs, for those who only look."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import ConfigRepository
from hydra._internal.utils import create_config_search_path
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, open_dict

from bertxfer import config


class _ReadOnce(ConfigRepository):
    """Hydra copies its repository and reads every file again for each composition, which is half of the time it takes.

    So one composer sees one state of the files.
    """

    def __init__(self, path: ConfigSearchPath) -> None:
        super().__init__(path)
        self._loaded: dict[str, ConfigResult | None] = {}
        self._groups: dict[str, bool] = {}

    def __deepcopy__(self, memo: Any) -> "_ReadOnce":
        return self

    def initialize_sources(self, config_search_path: ConfigSearchPath) -> None:
        super().initialize_sources(config_search_path)
        self._loaded, self._groups = {}, {}

    def load_config(self, config_path: str) -> ConfigResult | None:
        if config_path not in self._loaded:
            self._loaded[config_path] = super().load_config(config_path)
        return copy.deepcopy(self._loaded[config_path])

    def group_exists(self, config_path: str) -> bool:
        if config_path not in self._groups:
            self._groups[config_path] = super().group_exists(config_path)
        return self._groups[config_path]


class Composer:
    """Turns overrides into configs as a run would, from the YAML in `conf` and in `more` folders (--config-dir)."""

    def __init__(self, conf: Path, words: Sequence[str] = (), more: Sequence[str] = (), name: str = "config") -> None:
        config.register()
        self.conf, self.name = conf, name
        path = create_config_search_path(str(conf.absolute()))
        for folder in more:  # before the schema, as Hydra does
            path.append("command-line", f"file://{Path(folder).absolute()}")
        self._loader = ConfigLoaderImpl(path)
        self._loader.repository = _ReadOnce(path)
        self.words = list(words)  # of Hydra's own config: hydra.launcher.workers=4
        self.groups: dict[str, bool] = {}
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    @property
    def loader(self) -> ConfigLoader:
        return self._loader

    def compose(self, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        known = (mode.name, *overrides)
        if known not in self._composed:  # 100 ms; a copy takes 10
            cfg = self.whole(overrides, mode)
            with open_dict(cfg):
                del cfg["hydra"]
            self._composed[known] = cfg
        return copy.deepcopy(self._composed[known])

    def whole(self, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        return self._loader.load_configuration(self.name, [*self.words, *overrides], mode)

    def is_group(self, name: str) -> bool:
        if name not in self.groups:
            self.groups[name] = bool(self._loader.get_group_options(name.split("@")[0]))
        return self.groups[name]
