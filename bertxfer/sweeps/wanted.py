"""The sweep that a command line and an experiment ask for: the union of their products, composed place by place."""

from collections.abc import Iterator, Sequence
from itertools import product

from omegaconf import DictConfig, OmegaConf

from bertxfer.claims.case import Case
from bertxfer.claims.claim import Claim, claims_of
from bertxfer.config import grids
from bertxfer.config.command_line import OWN_MODELS
from bertxfer.config.configs import Composes, configs
from bertxfer.config.grids import Axes, Shape
from bertxfer.config.overrides import as_axes, axes_of, grid_axes, of_trials, points
from bertxfer.config.schema import Config, Model
from bertxfer.config.selection import select
from bertxfer.errors import ConfigError
from bertxfer.sweeps import trackers
from bertxfer.sweeps.claiming import cases_of
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.pretrained import DEMONSTRATION
from bertxfer.trials.rounds import round_of
from bertxfer.trials.trial import trial_of


def places_of(
    overrides: Sequence[str], composer: Composes, inputs: Inputs | None = None
) -> Iterator[tuple[Point, Config]]:
    """Every place that the words of a multirun mean, with its trial, and the config that says so."""
    command_line, inputs = of_trials(axes_of(overrides, composer.loader)), inputs or Inputs()
    wanted, tracked = _wanted(command_line, composer, inputs)[0], list[str]()
    for words, config in zip(wanted, configs(wanted, composer), strict=True):
        try:
            point = Point(as_axes(words), trial_of(config, inputs))
        except ConfigError as error:
            error.axes = as_axes(words)
            raise
        if config.runtime.track != tracked:
            trackers.check(tracked := config.runtime.track)
        yield point, config


def sweep_of(overrides: Sequence[str], composer: Composes, inputs: Inputs | None = None) -> Sweep:
    """Every place that the words of a multirun mean, with its trial; while fetching, all of them or an error."""
    points, shared, inputs = [], [], inputs or Inputs()
    for point, config in places_of(overrides, composer, inputs):
        points.append(point)
        shared.append((config.runtime, config.artifacts))
    if inputs.fetch:
        inputs.refuse_absent([point.trial.science for point in points])
    if any(one != shared[0] for one in shared):
        raise ConfigError(
            "runtime", "is not an axis, nor is artifacts: they change no result, so a sweep's trials share them"
        )
    axes = of_trials(axes_of(overrides, composer.loader))
    return Sweep(points, *shared[0], _name(axes), *to_decide(axes, points, composer))


def to_decide(command_line: Axes, points: Sequence[Point], composer: Composes) -> tuple[tuple[Case, ...], bool]:
    """The cases of the experiment's claims, and whether its rounds end when they are decided."""
    cases, until = claims_about(command_line, points, composer), is_until_decided(command_line, composer)
    if until and not cases:
        names = ", ".join(f"claims.{claim.name}" for claim in stated_claims(command_line, composer))
        none = f"none of {names} is about a trial of this sweep" if names else "here there are none"
        raise ConfigError("seed", f"until(N) needs claims that decide how many rounds it takes; {none}")
    if until and len({round_of(point.trial.science) for point in points}) < len({p.axes["seed"] for p in points}):
        raise ConfigError("seeds.order", "does not go with until(N), which needs a round for each seed")
    return tuple(cases), until


def stated_claims(command_line: Axes, composer: Composes) -> list[Claim]:
    """What the experiment sets out to decide, as it says today."""
    block = composer.compose(_experiment_words(command_line)).get("claims")
    return claims_of(OmegaConf.to_container(block) if OmegaConf.is_config(block) else block)


def claims_about(command_line: Axes, points: Sequence[Point], composer: Composes) -> list[Case]:
    """The cases of the experiment's claims among these places."""
    claims = stated_claims(command_line, composer)
    if not claims:
        return []
    models = _by_model(_experiment_grids(command_line, composer) or [{}], command_line)
    chosen = [composer.compose([*_experiment_words(command_line), *words]) for words in models]
    stand_ins = {key: value for one in chosen for key, value in one.model.stand_ins.items()}
    return cases_of(claims, points, stand_ins)


def is_until_decided(command_line: Axes, composer: Composes) -> bool:
    """Whether the rounds are bounded by `until(N)`: as typed, or else in the experiment's grids."""
    typed = command_line.get("seed")
    grids_say = [typed] if typed else [grid.get("seed", []) for grid in _experiment_grids(command_line, composer)]
    bounded = [grids.is_until(word.split("=", 1)[1]) for words in grids_say for word in words or ["seed="]]
    if any(bounded) and not all(bounded):
        raise ConfigError("seed", "until(N) holds for a whole sweep; give it alone, and in each of the grids")
    return any(bounded)


def notes_of(overrides: Sequence[str], composer: Composes, inputs: Inputs | None = None) -> list[str]:
    """What a user should know about how the grids of an experiment were fitted to the model."""
    command_line = of_trials(axes_of(overrides, composer.loader))
    return [*_wanted(command_line, composer, inputs or Inputs())[1], *_reading_note(command_line, composer)]


def _reading_note(command_line: Axes, composer: Composes) -> list[str]:
    chosen = composer.compose(_experiment_words(command_line))
    others = [name for name in chosen.readings if name != chosen.reading]
    is_text = chosen.reading == "text"
    words = "what the paper's text says" if is_text else "what the published code does where the text says otherwise"
    return [f"reading={chosen.reading}: {words}; reading={others[0]} is the other"] if others else []


def _wanted(command_line: Axes, composer: Composes, inputs: Inputs) -> tuple[list[tuple[str, ...]], list[str]]:
    """All places, and what is said of them. A grid is fitted to each model that it runs on."""
    experiment = _experiment_grids(command_line, composer)
    if not (experiment or grids.has_shape(command_line) or is_until_decided(command_line, composer)):
        return points([command_line]), []
    fitted, notes = [], []
    by_model = _by_model(experiment or [{}], command_line)
    for model_words, model_grids in by_model.items():
        _refuse_bare_name(model_words, command_line, composer)
        chosen = composer.compose([*_experiment_words(command_line), *model_words])
        shape, stand_ins = _shape(chosen, [*model_grids, command_line], inputs), chosen.model.stand_ins
        before = [grids.shaped(grid, shape) for grid in model_grids]
        after = [grids.stood_in(grid, stand_ins) for grid in before]
        notes.append(grids.stand_in_note(chosen.model.name, before, after))
        typed = {key: words for key, words in command_line.items() if not _of_model(key)}
        # A task that is typed by its own name is meant, even where another would stand in for it.
        own_names = {f"task={name}" for name in stand_ins} & set(typed.get("task", []))
        selection = select(grids.shaped(typed, shape), before if own_names else after)
        notes.append(selection.note())
        fitted += points(selection.scaled(_scale(command_line, chosen)))
    return list(dict.fromkeys(fitted)), [note for note in dict.fromkeys(notes) if note]


def _refuse_bare_name(model_words: Sequence[str], command_line: Axes, composer: Composes) -> None:
    """The settings of the demonstration model are not those of another model that is given by its name alone."""
    given = {word.split("=", 1)[0]: word.partition("=")[2] for word in model_words}
    if "model.name" not in given or "model" in given:
        return
    name = given["model.name"].strip("'\"")
    chosen = composer.compose(_experiment_words(command_line)).model.name
    if chosen == DEMONSTRATION != name:
        group = name if name in OWN_MODELS else "other"
        raise ConfigError("model.name", f"add model={group}; without it the mini model's learning rate would be taken")


def _by_model(experiment: Sequence[Axes], command_line: Axes) -> dict[tuple[str, ...], list[Axes]]:
    """The grids of each model, which a grid names itself or takes from the command line."""
    by_model: dict[tuple[str, ...], list[Axes]] = {}
    for grid in experiment:
        models = {key: words for key, words in {**grid, **command_line}.items() if _of_model(key)}
        for model_words in product(*models.values()):
            model = {key: [word] for key, word in zip(models, model_words, strict=True)}
            by_model.setdefault(model_words, []).append({**grid, **model})
    return by_model


def _of_model(key: str) -> bool:
    return key.split(".")[0] == "model"


def _shape(chosen: DictConfig, axes: Sequence[Axes], inputs: Inputs) -> Shape | None:
    """Looked up only where an axis needs it: the rest works even with a model that is not there."""
    if not any(grids.has_shape(one) for one in axes):
        return None
    model = OmegaConf.to_object(chosen.model)
    assert isinstance(model, Model)
    found = inputs.model(model)
    return Shape(found.layers, found.heads)


def _scale(command_line: Axes, chosen: DictConfig) -> str | None:
    typed = command_line.get("scale", [f"scale={chosen.scale or 'null'}"])
    scale = None if typed[0] == "scale=null" else typed[0].split("=", 1)[1]
    if len(typed) > 1 or scale not in grids.SCALES:
        raise ConfigError("scale", f"{scale!r} is not a scale; use tiny, or null for the papers' own")
    return scale


def _experiment_grids(command_line: Axes, composer: Composes) -> list[Axes]:
    chosen = command_line.get("experiment")
    if chosen is None:
        return []
    if len(chosen) > 1:
        raise ConfigError("experiment", "one sweep runs one experiment; start one command for each")
    name = chosen[0].split("=", 1)[1]
    if name.startswith("/") or ".." in name.split("/"):
        raise ConfigError("experiment", f"{name!r} is a path, not a name; --config-dir FOLDER adds FOLDER/experiment")
    if len(command_line.get("reading", [])) > 1:
        raise ConfigError("reading", "one sweep has one reading; start one command for each, which share equal trials")
    composed = composer.compose(_experiment_words(command_line)).get("grids")
    if composed is None:
        return []
    plain = OmegaConf.to_container(composed)
    if not isinstance(plain, list) or not all(isinstance(grid, dict) for grid in plain):
        raise ConfigError("grids", "is a list of grids, each a mapping of keys to values")
    return [grid_axes(grid, composer.loader) for grid in plain]


def _experiment_words(command_line: Axes) -> list[str]:
    """The words that choose an experiment and a reading of it."""
    return [word for key in ("experiment", "reading") for word in command_line.get(key, [])[:1]]


def _name(command_line: Axes) -> str:
    chosen = command_line.get("experiment")
    return "sweep" if chosen is None else chosen[0].split("=", 1)[1]
