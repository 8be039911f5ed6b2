"""The presets of conf/experiment/: what each asks for, and how much of it is in the store."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.config_loader import ConfigLoader
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig

from bertxfer import config, sweep
from bertxfer.errors import BertxferError
from bertxfer.store import Store


@dataclass(frozen=True)
class Preset:
    """`problem` says why its trials cannot be listed here, for example because a data set is not there."""

    name: str
    description: str
    trials: int = 0
    done: int = 0
    problem: str | None = None


def names(conf: Path) -> list[str]:
    """Every preset, papers after the embedded one."""
    folder = conf / "experiment"
    found = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.yaml")]
    return sorted(found, key=lambda name: ("/" in name, name))


def presets(words: Sequence[str], store: Store) -> Iterator[Preset]:
    """Each preset with these words behind it (model=mini), in the order of their names."""
    with composing() as composer:
        for name in names(config.conf_dir()):
            description = str(composer.compose([f"experiment={name}"]).description or "")
            try:
                trials = sweep.sweep_of([f"experiment={name}", *words], composer).trials
            except BertxferError as error:
                yield Preset(name, description, problem=str(error))
                continue
            done = sum((store.folder(trial.id) / "result.json").is_file() for trial in trials)
            yield Preset(name, description, len(trials), done)


class _Composing:
    def __init__(self) -> None:
        self.groups: dict[str, bool] = {}

    @property
    def loader(self) -> ConfigLoader:
        return GlobalHydra.instance().config_loader()

    def compose(self, overrides: Sequence[str]) -> DictConfig:
        return compose("config", overrides=list(overrides))

    def is_group(self, name: str) -> bool:
        if name not in self.groups:  # asking Hydra takes 20 ms each time
            self.groups[name] = bool(self.loader.get_group_options(name.split("@")[0]))
        return self.groups[name]


@contextmanager
def composing() -> Iterator[sweep.Composer]:
    """Composes as a run does, for those who only look."""
    config.register()
    with initialize_config_dir(str(config.conf_dir()), version_base="1.3"):
        yield _Composing()
