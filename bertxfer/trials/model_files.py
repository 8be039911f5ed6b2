"""The files of a pretrained model that a trial reads, and the digest of what they say: its version, wherever they lie.

A file that is not read (a model card, the same weights in another format) changes nothing, nor does what only names
things: the order of tensors in a file, the prefix and the heads of the class that saved them, who saved it and how.
"""

import hashlib
import json
import mmap
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.errors import ConfigError
from bertxfer.system import cache, files
from bertxfer.trials import redirections

CONFIG = "config.json"
# In the order in which transformers looks for them.
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
# A tokenizer is the first of these, or else all of the vocabularies that are there, with its settings. Measured: where
# there is a tokenizer.json, no vocabulary is read, and both of the first two settings change tokens.
_WHOLE, _VOCABULARIES = (
    "tokenizer.json",
    ("vocab.txt", "vocab.json", "merges.txt", "spm.model", "sentencepiece.bpe.model"),
)
_SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json")
# What neither AutoModel (which is told the number format) nor AutoTokenizer (which is told the length) depends on.
_ONLY_NAMES = (
    "_name_or_path _commit_hash architectures dtype torch_dtype id2label label2id transformers_version "
    "name_or_path special_tokens_map_file tokenizer_file"
).split()
# Heads that pretraining left behind, and numbers that are counted anew: no encoder is made of them.
_NOT_ENCODER = (
    "cls.",
    "classifier.",
    "qa_outputs.",
    "lm_head.",
    "discriminator_predictions.",
    "generator_predictions.",
    "generator_lm_head.",
    "vocab_transform.",
    "vocab_layer_norm.",
    "vocab_projector.",
    "pre_classifier.",
    "embeddings.position_ids",
)
FORMAT = 2  # of the digest; 2: what redirects is refused, and only the family's own prefix is taken off
_BLOCK = 1 << 20


@dataclass(frozen=True)
class ModelFiles:
    """Names within a model's folder: what is small, and the weights, or the index that names their parts."""

    small: tuple[str, ...]
    weights: str

    @property
    def in_parts(self) -> bool:
        return self.weights.endswith(".index.json")


def choose(names: Collection[str], whose: str) -> ModelFiles:
    """Which of a folder's files are read; ConfigError says what a model lacks."""
    if CONFIG not in names:
        raise _no_config(whose)
    redirections.refuse_names(names, whose)
    tokenizer = [_WHOLE] if _WHOLE in names else [name for name in _VOCABULARIES if name in names]
    if not tokenizer:
        raise ConfigError("model.name", f"{whose} has no tokenizer ({_WHOLE} or {_VOCABULARIES[0]}); save it there too")
    weights = next((name for name in _WEIGHTS if name in names), None)
    if weights is None:
        raise ConfigError("model.name", f"{whose} has no weights ({' or '.join(_WEIGHTS[::2])})")
    return ModelFiles((CONFIG, *tokenizer, *(name for name in _SETTINGS if name in names)), weights)


def _no_config(whose: str) -> ConfigError:
    return ConfigError("model.name", f"{whose} has no config.json, so it is not a Hugging Face model")


def parts(folder: Path, chosen: ModelFiles) -> list[str]:
    """The names of the files that hold the weights."""
    if not chosen.in_parts:
        return [chosen.weights]
    try:
        places = json.loads((folder / chosen.weights).read_text(encoding="utf-8"))["weight_map"].values()
    except (ValueError, KeyError, AttributeError) as error:
        raise ConfigError("model.name", f"{folder / chosen.weights} does not say where the weights are") from error
    return sorted(set(places))


def complete(folder: Path) -> bool:
    """Whether a folder has all that is read of a model."""
    try:
        chosen = choose([path.name for path in folder.iterdir()], str(folder))
        return all((folder / name).is_file() for name in parts(folder, chosen))
    except (OSError, ConfigError):
        return False


def version(folder: Path) -> str:
    """The digest of what a trial reads of a model."""
    chosen = choose([path.name for path in folder.iterdir() if path.is_file()], f"the folder {folder}")
    held = parts(folder, chosen)
    for name in held:
        if not (folder / name).is_file():
            raise ConfigError("model.name", f"the folder {folder} has no {name}, which {chosen.weights} names")
    read = [folder / name for name in (*chosen.small, *held)]
    return cache.remembered("model", [FORMAT], cache.stamps(read), lambda: _digest(folder, chosen.small, held))


def same_words(one: str, other: str) -> bool:
    """Whether two models have the same word pieces under the same numbers; what is not here is believed to have."""
    found = [_words(Path(where)) for where in (one, other) if complete(Path(where))]
    return len(found) < 2 or found[0] == found[1]


def _words(folder: Path) -> Any:
    """The word pieces by number."""
    try:
        if (folder / _WHOLE).is_file():
            return json.loads((folder / _WHOLE).read_text(encoding="utf-8"))["model"]["vocab"]
        lines = (folder / _VOCABULARIES[0]).read_text(encoding="utf-8").splitlines()
        return {line: number for number, line in enumerate(lines)}
    except (OSError, ValueError, KeyError, TypeError):
        return folder.resolve()  # unknown, so it is like no other's


def facts(folder: Path) -> dict[str, Any]:
    """What the model says of itself in its config.json."""
    path = folder / CONFIG
    try:
        said: Any = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise _no_config(f"the folder {folder}") from None
    except (OSError, ValueError) as error:
        raise ConfigError("model.name", f"{path} cannot be read ({error})") from error
    if not isinstance(said, dict) or not said.get("model_type"):
        raise ConfigError("model.name", f"{path} has no model_type, so nobody can tell what model it is")
    return said


def _digest(folder: Path, small: Collection[str], weights: Collection[str]) -> str:
    redirections.refuse_keys(folder)
    family = str(facts(folder)["model_type"])
    whole = hashlib.sha256()
    for name in sorted(small):
        whole.update(f"{name} {_small_digest(folder / name)}\n".encode())
    tensors = [pair for name in weights for pair in _weights_digest(folder / name, family)]
    for name, content in sorted(tensors):
        whole.update(f"{name} {content}\n".encode())
    return whole.hexdigest()[:32]


def _small_digest(path: Path) -> str:
    """Of JSON its values, however they are laid out; of any other file its bytes."""
    if path.suffix == ".json":
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError("model.name", f"{path} is not valid JSON ({error})") from error
        if isinstance(plain, dict) and path.name in (CONFIG, "tokenizer_config.json"):
            plain = {key: value for key, value in plain.items() if key not in _ONLY_NAMES}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
    return files.digest(path)


def _weights_digest(path: Path, family: str) -> Iterator[tuple[str, str]]:
    """Of safetensors each tensor of the encoder; of any other file its bytes, which only torch could read."""
    if path.suffix != ".safetensors":
        yield path.name, files.digest(path)
        return
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            begin = 8 + int.from_bytes(mapped[:8], "little")
            header = json.loads(mapped[8:begin])
            header.pop("__metadata__", None)
            for stored, name in _encoder_names(header, family).items():
                first, last = (begin + offset for offset in header[stored]["data_offsets"])
                if last > len(mapped):
                    raise ValueError("it ends too early")
                content = hashlib.sha256(f"{header[stored]['dtype']} {header[stored]['shape']}".encode())
                for at in range(first, last, _BLOCK):
                    content.update(mapped[at : min(at + _BLOCK, last)])
                yield name, content.hexdigest()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError("model.name", f"{path} is not a whole safetensors file ({error})") from error


def _encoder_names(header: Collection[str], family: str) -> dict[str, str]:
    """What the encoder's tensors are called without the prefix of the class that saved them, by their stored names."""
    names = {stored: _plain_name(stored, family) for stored in header}
    kept = {stored: name for stored, name in names.items() if not name.startswith(_NOT_ENCODER)}
    return kept if len(set(kept.values())) == len(kept) else {stored: stored for stored in header}


def _plain_name(stored: str, family: str) -> str:
    """Only the prefix of its own family is taken off when it is loaded: a BERT does not read roberta.pooler."""
    name = stored.removeprefix(f"{family}.")
    # BERT's first checkpoints call a LayerNorm's weight and bias by Greek letters.
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
