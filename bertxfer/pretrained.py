"""Which pretrained model is meant, where it lies and what shape it has, found without torch."""

import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from bertxfer.architectures import family_of
from bertxfer.config import PACKAGE, Model
from bertxfer.errors import ConfigError

_SHAPE_KEYS = {
    "layers": ("num_hidden_layers", "n_layers"),
    "heads": ("num_attention_heads", "n_heads"),
    "positions": ("max_position_embeddings",),
}


@dataclass(frozen=True)
class Pretrained:
    where: str  # a folder or a hub name, for from_pretrained
    name: str  # what it is called in results
    version: str  # the digest of a folder's files, or the hub revision
    family: str
    layers: int
    heads: int
    positions: int


def find(model: Model) -> Pretrained:
    """The model that the config names. A folder is known by its content, so that changed weights are a new model."""
    folder = PACKAGE / "mini" / "model" if model.name == "mini" else Path(model.name).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            raise ConfigError(
                "model.name", f"the folder {folder} has no config.json, so it is not a Hugging Face model"
            )
        facts = json.loads((folder / "config.json").read_text())
        where, version = str(folder.resolve()), _digest(*_stamps(folder))
    elif model.name.startswith((".", "/", "~")):
        raise ConfigError("model.name", f"there is no folder {folder}")
    else:
        known = all((model.family, model.layers, model.heads, model.positions))
        facts = {} if known else _hub_config(model.name, model.revision)
        where, version = model.name, model.revision or "main"
    family = model.family or str(facts.get("model_type"))
    family_of(family)
    shape = {key: _shape(model, key, facts) for key in _SHAPE_KEYS}
    if family == "roberta":  # its positions start after the padding index
        shape["positions"] -= 0 if model.positions else 2
    return Pretrained(
        where,
        folder.name if folder.is_dir() and model.name != "mini" else model.name,
        version,
        family,
        **shape,
    )


def _shape(model: Model, key: str, facts: dict[str, Any]) -> int:
    declared: int | None = getattr(model, key)
    found = next((facts[name] for name in _SHAPE_KEYS[key] if name in facts), None)
    shape = found if declared is None else declared
    if shape is None:
        raise ConfigError(f"model.{key}", f"{model.name}'s config.json does not say; give model.{key}")
    if declared is not None and found is not None and declared != found and key != "positions":
        raise ConfigError(f"model.{key}", f"is {declared}, but {model.name} has {found}")
    return int(shape)


def _hub_config(name: str, revision: str | None) -> dict[str, Any]:
    from huggingface_hub import hf_hub_download

    try:
        path = hf_hub_download(name, "config.json", revision=revision)
    except Exception as error:
        raise ConfigError(
            "model.name",
            f"{name!r} is neither a folder nor a model that could be had from the Hugging Face hub "
            f"({type(error).__name__}); give a folder that save_pretrained wrote",
        ) from error
    facts: dict[str, Any] = json.loads(Path(path).read_text())
    return facts


def _stamps(folder: Path) -> tuple[tuple[str, int, int], ...]:
    files = sorted(f for f in folder.iterdir() if f.suffix in (".json", ".safetensors", ".bin", ".txt", ".model"))
    return tuple((str(f), f.stat().st_size, f.stat().st_mtime_ns) for f in files)


@lru_cache
def _digest(*stamps: tuple[str, int, int]) -> str:
    """The content of a model folder. The stamps make the cache notice a change while the process lives."""
    whole = hashlib.sha256()
    for name, _, _ in stamps:
        with Path(name).open("rb") as file:
            content = (
                hashlib.file_digest(file, "sha256") if hasattr(hashlib, "file_digest") else hashlib.sha256(file.read())
            )
        whole.update(f"{Path(name).name} {content.hexdigest()}\n".encode())
    return whole.hexdigest()[:16]
