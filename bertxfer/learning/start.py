"""The encoder that a trial begins with: pretrained, fine-tuned by the stages before it, treated."""

from dataclasses import dataclass, replace
from functools import partial

from safetensors.torch import load_file, save_file
from torch import nn

from bertxfer.errors import ArtifactGone
from bertxfer.learning import encoders, treating
from bertxfer.learning.heads import HeadedModel
from bertxfer.store.artifacts import Artifacts
from bertxfer.trials import chains, families
from bertxfer.trials.science import Science
from bertxfer.trials.treatment import Treatment
from bertxfer.trials.trial import Trial

POOLER = "pooler."


@dataclass(frozen=True)
class Start:
    encoder: nn.Module
    redrawn: set[str]  # names of the tensors that were just reinitialized
    begun_from: dict[str, str] | None  # the trial that the encoder comes from, and the digest of its weights' file


def start(trial: Trial, artifacts: Artifacts) -> Start:
    """Loads the encoder, takes it through the chain before this trial, and treats it if this trial is to do so."""
    science = trial.science
    encoder = encoders.load(trial.model_at, science.model)
    prefix = chains.prefix_of(trial)
    family = families.family_of(science.model.family)
    begun_from = None
    if prefix is not None:
        treating.shorten(encoder, family, prefix.science.depth)
        begun_from = {"trial": prefix.id, "encoder": _load(encoder, artifacts, prefix.id)}
    due = chains.treatment_due(science)
    donors = {version: partial(encoders.tensors, where, version) for version, where in trial.donors_at}
    redrawn = treating.apply(due, encoder, family, science.model.heads, science.seeds.get("redraw"), donors)
    return Start(encoder, redrawn, begun_from)


def pretrained(trial: Trial) -> nn.Module:
    """The encoder before anything was done to it, but for layers that were deleted: a layer is compared with itself."""
    science = trial.science
    encoder = encoders.load(trial.model_at, science.model)
    if science.depth < science.model.layers:
        deleted = Treatment(order=science.treatment.order)
        treating.apply(deleted, encoder, families.family_of(science.model.family), science.model.heads, None)
    return encoder


def keep(model: HeadedModel, artifacts: Artifacts, trial_id: str) -> None:
    """Keeps a fine-tuned encoder for the trials that begin with it; the pooler goes along, the classifier does not."""
    tensors = {
        name.removeprefix("encoder."): tensor.detach().cpu().contiguous()
        for name, tensor in model.state_dict().items()
        if not name.startswith("classifier.")
    }
    artifacts.write("encoders", trial_id, lambda path: save_file(tensors, path, {"trial": trial_id}))


def _load(encoder: nn.Module, artifacts: Artifacts, trial_id: str) -> str:
    paths = artifacts.read("encoders", trial_id)
    if not paths:
        raise ArtifactGone(f"the encoder after {trial_id} is gone and will be made again")
    tensors = load_file(paths[0])
    if getattr(encoder, "pooler", None) is None:  # not pretrained, so part of each stage's own head
        tensors = {name: tensor for name, tensor in tensors.items() if not name.startswith(POOLER)}
    odd = encoder.load_state_dict(tensors, strict=False)
    strange = [name for name in [*odd.missing_keys, *odd.unexpected_keys] if not name.startswith(POOLER)]
    assert not strange, f"{paths[0]} does not fit the encoder: {strange[:3]}"
    return paths[0].stem


def with_stage(science: Science, stage: int) -> Science:
    """The same trial with the data and the head of one of its interleaved tasks, and with those before it."""
    assert science.chain is not None
    chosen = science.chain.stages[stage]
    chain = replace(science.chain, stages=science.chain.stages[:stage])
    model = replace(science.model, pooling=chosen.pooling)
    return replace(science, task=chosen.task, data=chosen.data, model=model, chain=chain)
