"""Trackers: where finished trials are logged too. One module for each, by the name of its package and extra."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from bertxfer.config.registry import Registry
from bertxfer.errors import ConfigError
from bertxfer.sweeps.trackers import mlflow, tensorboard, wandb
from bertxfer.sweeps.trackers.story import Story

TRACKERS: Registry[Callable[[Story, Path], None]] = Registry("runtime.track")
for _module in (tensorboard, mlflow, wandb):
    TRACKERS.add(_module.__name__.rpartition(".")[2], _module.log)


def check(names: Sequence[str], key: str = TRACKERS.key) -> None:
    """Raises ConfigError for a tracker that does not exist, or that is not installed here."""
    for name in names:
        if name not in TRACKERS:
            raise ConfigError(key, f"{name!r} is not one of {', '.join(TRACKERS)}")
        if not _installed(name):
            raise ConfigError(key, f"{name} is not installed here; pip install 'bertxfer[{name}]'")


@cache
def _installed(package: str) -> bool:
    return find_spec(package) is not None
