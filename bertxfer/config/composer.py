"""Composing without running: Hydra's loader over any folder of configs, for commands that only look."""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.config_repository import CachingConfigRepository, ConfigRepository
from hydra._internal.defaults_list import DefaultsList, create_defaults_list
from hydra._internal.utils import create_config_search_path
from hydra.core.config_loader import ConfigLoader
from hydra.core.config_search_path import ConfigSearchPath
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException

from bertxfer.config.schema import register


class _ReadOnce(ConfigRepository):
    """Hydra copies its repository and reads every file again for each composition, which takes half of its time.

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


class _WithoutHydra(_ReadOnce):
    """The configs without what they say about Hydra's own config, whose twenty files take half of a composition."""

    def load_config(self, config_path: str) -> ConfigResult | None:
        if config_path not in self._loaded and (loaded := super().load_config(config_path)) is not None:
            entries = loaded.defaults_list or []
            loaded.defaults_list = [e for e in entries if not getattr(e, "group", "").lstrip("/").startswith("hydra/")]
            if isinstance(loaded.config, DictConfig):
                with open_dict(loaded.config):
                    loaded.config.pop("hydra", None)
            self._loaded[config_path] = loaded
        return super().load_config(config_path)


class Composer:
    """Turns overrides into configs as a run would, from the YAML in `conf` and in `more` folders (--config-dir).

    `words` are overrides of Hydra's own config: hydra.launcher.workers=4.
    """

    def __init__(self, conf: Path, words: Sequence[str] = (), more: Sequence[str] = (), name: str = "config") -> None:
        register()
        self.conf, self.name, self.words = conf, name, list(words)
        path = create_config_search_path(str(conf.absolute()))
        schema = path.get_path().pop()  # it must stay the last
        for folder in more:
            path.append("command-line", f"file://{Path(folder).absolute()}")
        path.get_path().append(schema)
        self._loader, self._lean_loader = ConfigLoaderImpl(path), ConfigLoaderImpl(path)
        self._loader.repository, self._lean_loader.repository = _ReadOnce(path), _WithoutHydra(path)
        self._groups: dict[str, bool] = {}
        self._composed: dict[tuple[str, ...], DictConfig] = {}

    @property
    def loader(self) -> ConfigLoader:
        return self._loader

    def whole(self, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        """The config with Hydra's own, as Hydra composes it."""
        return self._loader.load_configuration(self.name, [*self.words, *overrides], mode)

    def compose(self, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DictConfig:
        """The config without Hydra's own."""
        if len(overrides) > 1:  # nobody asks for the same long list twice
            return self._without_hydra(overrides, mode)
        key = (mode.name, *overrides)
        if key not in self._composed:  # 70 ms; a copy takes 10
            self._composed[key] = self._without_hydra(overrides, mode)
        return copy.deepcopy(self._composed[key])

    def defaults(self, overrides: Sequence[str], mode: RunMode = RunMode.RUN) -> DefaultsList:
        """The files that a config is composed of, in their order, and what chose them; without Hydra's own."""
        return self._defaults_of(overrides, mode)[0]

    def _defaults_of(self, overrides: Sequence[str], mode: RunMode) -> tuple[DefaultsList, CachingConfigRepository]:
        parsed, files = self._lean_loader._parse_overrides_and_create_caching_repo(self.name, [*self.words, *overrides])
        parsed = [override for override in parsed if not override.is_hydra_override()]
        self._lean_loader.validate_sweep_overrides_legal(parsed, mode, from_shell=True)
        skip = mode == RunMode.MULTIRUN
        return create_defaults_list(files, self.name, parsed, prepend_hydra=False, skip_missing=skip), files

    def _without_hydra(self, overrides: Sequence[str], mode: RunMode) -> DictConfig:
        """What ConfigLoaderImpl.load_configuration does, with Hydra's part left out."""
        try:
            defaults, files = self._defaults_of(overrides, mode)
            cfg = self._lean_loader._compose_config_from_defaults_list(defaults.defaults, files)
            OmegaConf.set_struct(cfg, True)
            self._lean_loader._apply_overrides_to_config(defaults.config_overrides, cfg)
        except OmegaConfBaseException as error:
            raise ConfigCompositionException from error
        return cfg

    def is_group(self, name: str) -> bool:
        if name not in self._groups:
            self._groups[name] = bool(self._loader.get_group_options(name.split("@")[0]))
        return self._groups[name]
