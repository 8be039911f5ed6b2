"""What a report is about: the points of a sweep, from the overrides of a run or from a sweep that was launched."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bertxfer.config import command_line, experiments
from bertxfer.config.composer import Composer
from bertxfer.config.overrides import is_drawing, parsed
from bertxfer.config.schema import conf_dir
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import sweep_of
from bertxfer.trials.inputs import Inputs


@dataclass(frozen=True)
class Subject:
    name: str
    experiment: str | None
    description: str | None
    reading: str | None  # text or code, of an experiment that has both
    block: Any  # how the experiment says today that it is drawn; that is not part of a trial
    typed: dict[str, Any]  # keys of all its figures that the overrides or the reading give
    points: list[Point]
    store: Store
    commands: list[str]  # that make the trials and the report again
    words: list[str]  # the overrides that mean the sweep
    composer: Composer

    def titled(self, title: str | None = None) -> str:
        """A title, or else the name of the experiment or of the sweep; with the reading, where there are two."""
        reading = f", reading={self.reading}" if self.reading else ""
        return f"{title or self.experiment or self.name}{reading}"

    def beside(self, experiment: str) -> list[Point]:
        """The points of another experiment, to be drawn with this one: of the overrides, those of the model, the tasks,
        the data, the scale and the reading hold for both; the others speak of this experiment's grids."""
        words = [word for word in self.words if _is_shared(word.split("=", 1)[0])]
        return sweep_of([f"experiment={experiment}", *words], self.composer).points

    def defaults(self) -> dict[str, Any]:
        """The scientific config of a trial without any override."""
        return sweep_of([], self.composer).points[0].trial.science.as_dict()


def _is_shared(key: str) -> bool:
    shared = ("data.root", "data.dev_n", "scale", "reading")
    return key in shared or key.split(".")[0] in ("task", "model", "runtime")


def of_words(words: Sequence[str], output_dir: Path | None = None, config_dirs: Sequence[str] = ()) -> Subject:
    """The sweep that a run with these overrides would launch, whether or not it was launched."""
    ours, hydras = _apart(words)
    composer = Composer(conf_dir(), hydras, config_dirs)
    inputs = Inputs()
    wanted = sweep_of(ours, composer, inputs)
    for name, error in inputs.absent.items():
        print(f"{name} is not on this machine, so its trials cannot be told: {error}", file=sys.stderr)
    root = (output_dir or Path(wanted.runtime.output_dir)).absolute()
    flags = [word for folder in config_dirs for word in ("--config-dir", folder)]
    run = [word for word in words if not is_drawing(word.split("=", 1)[0].lstrip("+"))]
    # With it a run writes where this report looked.
    output = [f"runtime.output_dir={output_dir}"] if output_dir else []
    commands = [_command(*flags, "-m", *run, *output), _command("report", *flags, "-m", *words, *output)]
    return _subject(manifest.name_of(wanted), ours, wanted.points, Store(root), commands, composer)


def of_sweep(root: Path, name: str | None) -> Subject:
    """A sweep that was launched; without a name the one launched last. Its trials are those that were frozen."""
    folder = _latest(root) if name is None else manifest.find(root, name)
    frozen = manifest.read(folder)
    launched = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["command"]
    where = folder.parent.parent
    commands = [_command(*launched), _command("report", "--output-dir", str(where), frozen.name)]
    flags, overrides = command_line.apart(launched)
    ours, hydras = _apart(overrides)
    composer = Composer(conf_dir(), hydras, command_line.config_dirs(flags))
    return _subject(frozen.name, ours, frozen.points, frozen.store, commands, composer)


def _subject(
    name: str, words: list[str], points: list[Point], store: Store, commands: list[str], composer: Composer
) -> Subject:
    experiment = next((word.split("=", 1)[1] for word in words if word.startswith("experiment=")), None)
    config = _of_experiment(composer, experiment, words)
    reading = config.reading if config.get("readings") else None
    block = OmegaConf.to_container(config.figure) if config.get("figure") is not None else None
    typed_bars = [word.split("=", 1)[1] for word in words if word.split("=", 1)[0] == "error_bars"]
    bars = typed_bars[-1] if typed_bars else config.get("error_bars")
    typed = {**({"interval": bars} if bars not in (None, "null") else {}), **_figure_keys(words)}
    return Subject(
        name, experiment, config.get("description"), reading, block, typed, points, store, commands, words, composer
    )


def _figure_keys(words: Sequence[str]) -> dict[str, Any]:
    """What the overrides say of figures: `figure.interval=sd2`."""
    typed = {}
    for word in words:
        key = word.split("=", 1)[0].lstrip("+")
        if key == "figure":
            raise ConfigError(key, "is given key by key: figure.interval=sd2, 'figure.tables=[summary]'")
        if key.startswith("figure."):
            typed[key.removeprefix("figure.")] = parsed(word).value()
    return typed


def _of_experiment(composer: Composer, experiment: str | None, words: Sequence[str]) -> DictConfig:
    """What an experiment says of itself today; one that is gone says nothing, and its trials remain."""
    if experiment is None or experiment not in _experiments(composer):
        return OmegaConf.create({})
    chosen = [word for word in words if word.split("=", 1)[0] == "reading"]
    return composer.compose([f"experiment={experiment}", *chosen])


def _experiments(composer: Composer) -> list[str]:
    return [*experiments.names(composer.conf), *composer.loader.get_group_options("experiment")]


def _apart(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The overrides of the config, and those of Hydra's own."""
    ours, hydras = command_line.ours_and_hydras(command_line.in_order(words))
    for word in ours:
        if "=" not in word:
            raise ConfigError(word, "is neither key=value nor the name of a sweep")
    return ours, hydras


def _latest(root: Path) -> Path:
    paths = sorted((root / "sweeps").glob("[!.]*/manifest.json"), key=lambda path: path.stat().st_mtime)
    if not paths:
        raise BertxferError(f"there is no sweep in {root}; give the overrides of a run, for example experiment=mini")
    return paths[-1].parent


def _command(*words: str) -> str:
    return shlex.join(["python", "-m", "bertxfer", *words])
