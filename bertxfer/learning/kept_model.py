"""A fine-tuned model as a Hugging Face folder that `from_pretrained` loads, with a card that says what it is."""

import shutil
import tempfile
from html import escape
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from bertxfer.errors import BertxferError
from bertxfer.learning import encoders, treating
from bertxfer.learning.heads import HeadedModel
from bertxfer.system.files import umask
from bertxfer.system.processes import signature
from bertxfer.trials import chains
from bertxfer.trials.families import WholeModel, family_of
from bertxfer.trials.trial import Trial

HEAD = "head.safetensors"  # beside an encoder that has no class with such a head


def write(trial: Trial, model: HeadedModel, folder: Path) -> None:
    """Writes the folder whole or not at all."""
    temporary = Path(tempfile.mkdtemp(prefix=f".model.{signature()}.", suffix=".tmp", dir=folder.parent))
    try:
        science = trial.science
        whole = family_of(science.model.family).whole.get(science.model.pooling)
        if whole is None:
            _write_encoder(model, temporary)
        else:
            _in_class(whole, model, trial).save_pretrained(temporary)
        encoders.tokenizer(trial.model_at, science.model.version).save_pretrained(temporary)
        (temporary / "README.md").write_text(_card(trial, whole), encoding="utf-8")
        for path in (temporary, *temporary.rglob("*")):  # mkdtemp's 0700 and safetensors' 0600 hide it from a group
            path.chmod((0o777 if path.is_dir() else 0o666) & ~umask())
        temporary.replace(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def read(trial: Trial, folder: Path) -> HeadedModel:
    """The model of a folder that `write` wrote, as the trial ended with it."""
    science = trial.science
    encoder = encoders.load(trial.model_at, science.model)
    treating.shorten(encoder, family_of(science.model.family), science.depth)
    model = HeadedModel(encoder, science)
    whole = family_of(science.model.family).whole.get(science.model.pooling)
    try:
        stored = load_file(folder / "model.safetensors")
        if whole is None:
            stored = {f"encoder.{name}": tensor for name, tensor in stored.items()} | load_file(folder / HEAD)
        names = {name: name if whole is None else whole.name_of(name) for name, _ in model.named_parameters()}
        model.load_state_dict({name: stored[theirs] for name, theirs in names.items()})
    except (OSError, SafetensorError, KeyError, RuntimeError) as error:
        reason = " ".join(str(error).split())
        raise BertxferError(
            f"{folder} cannot be read ({reason[:200]}); move it away and run {trial.id} again"
        ) from error
    return model


def _in_class(whole: WholeModel, model: HeadedModel, trial: Trial) -> Any:
    config: Any = model.encoder.config
    labels = trial.science.task.labels or (["score"] if trial.science.task.kind == "regression" else [])
    labelled = type(config).from_dict(config.to_dict())
    if labels:
        labelled.num_labels = len(labels)
        labelled.id2label, labelled.label2id = dict(enumerate(labels)), {name: i for i, name in enumerate(labels)}
        if trial.science.task.kind == "regression":
            labelled.problem_type = "regression"
    made = getattr(transformers, whole.class_name)(labelled)
    made.load_state_dict({whole.name_of(name): tensor.cpu() for name, tensor in model.state_dict().items()})
    return made


def _write_encoder(model: HeadedModel, folder: Path) -> None:
    encoder: Any = model.encoder
    encoder.save_pretrained(folder)
    head = {n: t.detach().cpu().contiguous() for n, t in model.state_dict().items() if not n.startswith("encoder.")}
    save_file(head, folder / HEAD)


def _card(trial: Trial, whole: WholeModel | None) -> str:
    science = trial.science
    loads = f"`{whole.class_name}`" if whole else "`AutoModel` (the encoder; the head is in head.safetensors)"
    mini = "\nThe model and its language are a demonstration: they say nothing about English.\n"
    return f"""---
{yaml.safe_dump({"base_model": science.model.name, "library_name": "transformers", "tags": ["bertxfer"]})}---
# {escape(science.model.name)} fine-tuned on {escape(science.task.name)} by bertxfer

Made in an experiment on how pretraining helps transfer. Before fine-tuning: {escape(chains.describe(science))}.
It is loaded by {loads}. Trial `{trial.id}`, trained with torch {torch.__version__}.
{mini if science.model.name == "mini" else ""}
```yaml
{yaml.safe_dump(science.as_dict(), sort_keys=False)}```
"""
