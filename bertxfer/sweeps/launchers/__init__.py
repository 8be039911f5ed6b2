"""Launchers: ways to have the trials of a sweep run. Each has a module here and a file in conf/hydra/launcher/."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bertxfer.config import keys
from bertxfer.config.registry import Registry
from bertxfer.errors import ConfigError
from bertxfer.sweeps.launchers.inline import Inline
from bertxfer.sweeps.launchers.launcher import Launcher
from bertxfer.sweeps.launchers.local import Local
from bertxfer.sweeps.launchers.slurm import Slurm

LAUNCHERS: Registry[type[Launcher]] = Registry("hydra/launcher")
for _launcher in (Inline, Local, Slurm):
    LAUNCHERS.add(_launcher.__name__.lower(), _launcher)


def of_hydra(cfg: DictConfig | None) -> Launcher:
    """The launcher that Hydra's own config describes."""
    assert cfg is not None
    settings = OmegaConf.to_container(cfg.hydra.launcher, resolve=True)
    assert isinstance(settings, dict)
    return make({str(key): value for key, value in settings.items() if key != "_target_"})


def make(settings: Mapping[str, Any]) -> Launcher:
    """A launcher by its kind, and what else it sets."""
    kind = settings.get("kind")
    if not isinstance(kind, str) or kind not in LAUNCHERS:
        raise ConfigError(LAUNCHERS.key, f"is not one of ours; choose {', '.join(LAUNCHERS)}")
    chosen = {name: value for name, value in settings.items() if name != "kind"}
    known = {field.name: field for field in fields(LAUNCHERS[kind])}
    for name, value in chosen.items():
        key = f"hydra.launcher.{name}"
        if name not in known:
            raise ConfigError(key, f"the {kind} launcher has no such setting; it has {', '.join(known)}")
        keys.refuse(key, value, known[name])
        lines = [*value, *value.values()] if isinstance(value, dict) else [value]
        if name != "setup" and any("\n" in str(line) for line in lines):  # sbatch's script would run the second
            raise ConfigError(key, f"{value!r} is more than one line")
    return LAUNCHERS[kind](**chosen)
