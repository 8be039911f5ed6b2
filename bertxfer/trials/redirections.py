"""What a model's folder may say that makes transformers read other files than the usual ones: refused, since two models
that differ only in such a file would have one version."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from bertxfer.errors import ConfigError

ADAPTER = "adapter_config.json"
# Keys by the file that they stand in, and the usual file that another one is then read for.
_OTHER_FILES = {
    "config.json": {"transformers_weights": "model.safetensors", "configuration_files": "config.json"},
    "tokenizer_config.json": {"fast_tokenizer_files": "tokenizer.json"},
}
# Tokenizers, with or without Fast, that read a tokenizer.json and nothing else where there is one (measured), and one
# of the usual vocabularies otherwise. Others have files of their own (bpe.codes), or need dictionaries of a package.
_TOKENIZERS = (
    "Bert DistilBert Electra Roberta MPNet MobileBert RetriBert Herbert GPT2 Bart XLMRoberta Camembert DebertaV2 "
    "PreTrained"
).split()
# Names that transformers takes for a vocabulary where there is no tokenizer.json.
_FOREIGN = ("tekken.json", "tokenizer.model", "tiktoken.model")


def refuse_names(names: Collection[str], whose: str) -> None:
    """ConfigError for a file whose mere presence changes what is loaded."""
    if ADAPTER in names:  # read if the package peft is installed
        raise ConfigError(
            "model.name", f"{whose} has an adapter ({ADAPTER}); merge it into the weights, and save those alone"
        )
    foreign = [name for name in names if any(part in name for part in _FOREIGN)]
    if foreign and "tokenizer.json" not in names:
        raise ConfigError(
            "model.name",
            f"{whose} has {foreign[0]}, which is read as its vocabulary; save its tokenizer.json there too",
        )


def refuse_keys(folder: Path) -> None:
    """ConfigError for a setting that changes which files are read, or what becomes of their numbers."""
    said = {name: _settings(folder / name) for name in _OTHER_FILES}
    for file, keys in _OTHER_FILES.items():
        for key, usual in keys.items():
            named = said[file].get(key)
            others = [name for name in (named if isinstance(named, list) else [named]) if name not in (None, usual)]
            if others:
                raise ConfigError(
                    "model.name",
                    f"{folder / file} has {key}, so that {others[0]} is read for {usual}; give the wanted file that "
                    f"name, and remove the key",
                )
    config, tokenizer = said.values()
    if config.get("quantization_config") is not None:
        raise ConfigError(
            "model.name", f"the weights in {folder} are quantized (quantization_config); give those they were made from"
        )
    kind = tokenizer.get("tokenizer_class") or config.get("tokenizer_class")
    if kind and str(kind).removesuffix("Fast").removesuffix("Tokenizer") not in (*_TOKENIZERS, "TokenizersBackend"):
        raise ConfigError(
            "model.name",
            f"the tokenizer in {folder} is a {kind}, whose files are not known here; save it as a tokenizer.json, and "
            "give PreTrainedTokenizerFast as the tokenizer_class",
        )


def _settings(path: Path) -> dict[str, Any]:
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ConfigError("model.name", f"{path} is not valid JSON ({error})") from error
    return said if isinstance(said, dict) else {}
