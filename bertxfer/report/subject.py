"""What a report is about: the points of a sweep, from the overrides of a run or from a sweep that was launched."""

import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from bertxfer.claims.case import Case
from bertxfer.claims.claim import Claim
from bertxfer.config import command_line, experiments
from bertxfer.config.composer import Composer
from bertxfer.config.overrides import axes_of, is_drawing, of_trials, parsed
from bertxfer.config.schema import conf_dir
from bertxfer.errors import BertxferError, ConfigError
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.deciding import Deciding
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import claims_about, is_until_decided, places_of, stated_claims, sweep_of
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
    claims: Sequence[Claim] = ()  # what the experiment sets out to decide, as it says today
    cases: Sequence[Case] = ()
    until_decided: bool = False  # its rounds are only run while a claim needs them
    is_known: bool = True  # whether the experiment is here, which alone says what is claimed

    def titled(self, title: str | None = None) -> str:
        """A title, or else the name of the experiment or of the sweep; with the reading, where there are two."""
        reading = f", reading={self.reading}" if self.reading else ""
        return f"{title or self.experiment or self.name}{reading}"

    @cached_property
    def unneeded(self) -> set[str]:
        """The trials that nobody will run, since what they would help to decide is decided."""
        if not (self.until_decided and self.cases):
            return set()
        trials = list({point.trial.id: point.trial for point in self.points}.values())
        deciding = Deciding(self.cases, trials, self.store)
        return {trial.id for trial in trials if deciding.needs(trial.id) is False}

    def beside(self, experiment: str) -> list[Point]:
        """The points of another experiment, to be drawn with this one: of the overrides, those of the model, the tasks,
        the data, the scale and the reading hold for both; the others speak of this experiment's grids."""
        words = [word for word in self.words if _is_shared(word.split("=", 1)[0])]
        return sweep_of([f"experiment={experiment}", *words], self.composer).points

    def defaults(self) -> dict[str, Any]:
        """The scientific config of a trial without any override."""
        return sweep_of([], self.composer).points[0].trial.science.as_dict()

    def as_written(self) -> list[Point] | None:
        """The points of the experiment without any other override but its reading; None where there is none of it."""
        if self.experiment is None or not self.is_known:
            return None
        same = ("experiment=", "reading=", "runtime.", "figure.", "error_bars=", "hydra")
        if all(word.startswith(same) for word in self.words):
            return self.points
        words = [f"experiment={self.experiment}", *(word for word in self.words if word.startswith("reading="))]
        try:
            return [point for point, _ in places_of(words, self.composer, Inputs(stand_ins=True))]
        except BertxferError:  # it means something only with what was typed beside it
            return None


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


def of_sweep(root: Path, name: str | None, config_dirs: Sequence[str] = (), drawn: Sequence[str] = ()) -> Subject:
    """A sweep that was launched; without a name the one launched last. Its trials are those that were frozen; `drawn`
    are overrides that say how its figures are drawn, as figure.interval=sd2."""
    folder = _latest(root) if name is None else manifest.find(root, name)
    frozen = manifest.read(folder)
    launched = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["command"]
    where = folder.parent.parent
    commands = [_command(*launched), _command("report", "--output-dir", str(where), frozen.name, *drawn)]
    flags, overrides = command_line.apart(launched)
    ours, hydras = _apart([*overrides, *drawn])
    composer = Composer(conf_dir(), hydras, [*command_line.config_dirs(flags), *config_dirs])
    return _subject(frozen.name, ours, frozen.points, frozen.store, commands, composer)


def again(root: Path, sweep: str, words: Sequence[str], config_dirs: Sequence[str] = ()) -> Subject:
    """What was looked at before: a sweep as it was launched, or, where it is not here, what the same overrides mean."""
    if (root / "sweeps" / sweep / "manifest.json").is_file():
        return of_sweep(root, sweep, config_dirs)
    return of_words(words, root, config_dirs)


def stored(root: Path, names: Sequence[str] = (), config_dirs: Sequence[str] = ()) -> list[Subject]:
    """Every sweep that was launched here, or those of these names: of sweeps, or of their experiments."""
    found = []
    for path in sorted((root / "sweeps").glob("[!.]*/manifest.json")):
        try:
            found.append(of_sweep(root, path.parent.name, config_dirs))
        except BertxferError as error:  # what one of them says must not hide the others
            print(f"left out: {error}", file=sys.stderr)
    for name in names:
        if not any(_is_called(one, name) for one in found):
            known = ", ".join(dict.fromkeys(one.experiment or one.name for one in found)) or "none"
            raise BertxferError(
                f"{name!r} is neither a sweep nor an experiment that was run in {root}; there are: {known}"
            )
    return [one for one in found if not names or any(_is_called(one, name) for name in names)]


def of_paper(root: Path, paper: str, config_dirs: Sequence[str] = ()) -> tuple[list[Subject], list[str]]:
    """The sweeps of a paper's experiments that were launched here, and the experiments of which there is none."""
    known = [name for name in experiments.names(conf_dir()) if name.startswith(f"{paper}/")]
    found = [one for one in stored(root, (), config_dirs) if str(one.experiment).startswith(f"{paper}/")]
    if not found:
        raise BertxferError(f"no experiment of {paper} was run in {root}; there are {', '.join(known)}")
    found.sort(key=lambda one: known.index(one.experiment) if one.experiment in known else len(known))
    return found, [name for name in known if name not in {one.experiment for one in found}]


def is_paper(name: str) -> bool:
    """Whether experiments are called after it: tamkin2020."""
    return any(one.startswith(f"{name}/") for one in experiments.names(conf_dir()))


def _is_called(subject: Subject, name: str) -> bool:
    return name == subject.experiment or subject.name.startswith(name)


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
    subject = Subject(
        name, experiment, config.get("description"), reading, block, typed, points, store, commands, words, composer
    )
    if experiment is not None and experiment not in _experiments(composer):
        return replace(subject, is_known=False)
    if config.get("claims") is None:
        return subject
    axes = of_trials(axes_of(words, composer.loader))
    return replace(
        subject,
        claims=stated_claims(axes, composer),
        cases=claims_about(axes, points, composer),
        until_decided=is_until_decided(axes, composer),
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
