"""Chains: fine-tuning stages in front of a trial, and the trial that each prefix of a chain is."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bertxfer.config.schema import Config, Data, Optimizer, Probe, Task, Training
from bertxfer.errors import ConfigError
from bertxfer.trials import treatments
from bertxfer.trials.science import Chain, Science, identify, streams_of
from bertxfer.trials.treatments import Treatment
from bertxfer.trials.trial import Trial

T = TypeVar("T")


@dataclass(frozen=True)
class Stage:
    """A stage as a config asks for it; what it does not say is as for the trial itself."""

    task: Task
    data: Data
    optimizer: Optimizer
    training: Training

    def config(self, trial: Config) -> Config:
        """The config of the trial that this stage would be on its own."""
        return replace(trial, **vars(self), intermediate=[], probe=Probe())


def stages_of(config: Config, task_named: Callable[[str], Task]) -> list[Stage]:
    """The stages that `intermediate` names: a task, a mapping with settings of its own, or a list of these."""
    asked = config.intermediate
    if asked is None:
        if config.scheme == "sequential":
            raise ConfigError("intermediate", "scheme=sequential needs it; give intermediate=rte, or a list of tasks")
        return []
    return [_stage(config, item, task_named) for item in (asked if isinstance(asked, (list, tuple)) else [asked])]


def _stage(config: Config, asked: Any, task_named: Callable[[str], Task]) -> Stage:
    told = asked if isinstance(asked, Mapping) else {"task": asked}
    if not isinstance(told.get("task"), str):
        raise ConfigError("intermediate", f"{asked!r} is not the name of a task, nor a mapping with `task`")
    known = ("task", "data", "optimizer", "training")
    for key in told:
        if key not in known:
            raise ConfigError(f"intermediate.{key}", f"a stage has no such setting; it has {', '.join(known)}")
    if config.intermediate_mode == "interleave" and {"optimizer", "training"} & set(told):
        raise ConfigError("intermediate", "interleaved tasks share one training; only `data` may be of their own")
    if config.probe.features is not None and "training" not in told:
        raise ConfigError(
            "intermediate", "a probe's training is no stage's; give the stage its own: training: {epochs: 3}"
        )
    training = config.training if config.probe.features is None else Training()
    return Stage(
        task_named(told["task"]),
        _own(config.data, told.get("data"), "data"),
        _own(config.optimizer, told.get("optimizer"), "optimizer"),
        _own(training, told.get("training"), "training"),
    )


def _own(common: T, told: Any, group: str) -> T:
    if told is None:
        return common
    settings = OmegaConf.structured(common)
    if group == "data" and isinstance(told, Mapping) and {"n", "fraction"} & set(told):
        settings.n = settings.fraction = None  # the one that is given replaces the other
    try:
        merged = OmegaConf.to_object(OmegaConf.merge(settings, told))
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        raise ConfigError(f"intermediate.{group}", str(error).splitlines()[0]) from error
    assert isinstance(merged, type(common))
    return merged


def prefix_of(trial: Trial) -> Trial | None:
    """The trial whose encoder this one begins with; none where it begins with the pretrained one.

    A prefix is a trial like any other, with its own id and result. So the stage A of A -> B, A -> C and of A alone is
    one and the same.
    """
    science = trial.science
    if science.chain is None or science.chain.mode == "interleave":
        return None
    *earlier, last = science.chain.stages
    treatment = science.treatment if science.chain.treated == "first" else Treatment()
    chain = Chain("chain", tuple(earlier), science.chain.treated and "first") if earlier else None
    if chain is not None and treatment == Treatment():
        chain = replace(chain, treated=None)
    prefix = Science(
        model=replace(science.model, pooling=last.pooling),
        task=last.task,
        data=last.data,
        treatment=treatment,
        optimizer=last.optimizer,
        training=last.training,
        chain=chain,
        seeds={},
    )
    wanted = streams_of(prefix)
    prefix = replace(prefix, seeds={name: seed for name, seed in science.seeds.items() if name in wanted})
    *stages_at, data_at = trial.stages_at
    return Trial(prefix.id, prefix, trial.model_at, data_at, tuple(stages_at), ("encoder",))


def prefixes(trial: Trial) -> Iterator[Trial]:
    """Every stage in front of a trial, the nearest first."""
    while (prefix := prefix_of(trial)) is not None:
        yield prefix
        trial = prefix


def missing_first(trial: Trial, has_encoder: Callable[[str], bool]) -> Trial:
    """What must be run first so that the trial can be: itself, or the earliest stage whose encoder is not there."""
    prefix = prefix_of(trial)
    return trial if prefix is None or has_encoder(prefix.id) else missing_first(prefix, has_encoder)


def treatment_due(science: Science) -> Treatment:
    """What is done to the weights after the chain: nothing, if it was done before the chain's first stage."""
    return Treatment() if science.chain is not None and science.chain.treated == "first" else science.treatment


def features_name(trial: Trial) -> str:
    """The name of the features that a probe reads: all that decides the encoder's states, and nothing else."""
    science, prefix, due = trial.science, prefix_of(trial), treatment_due(trial.science)
    assert science.probe is not None
    return identify(
        {
            "semantics": science.semantics,
            "model": [science.model.name, science.model.version],
            "begun_from": None if prefix is None else prefix.id,
            "treatment": science.as_dict()["treatment"] if due == science.treatment else None,
            "redraw": science.seeds.get("redraw") if due.redrawn else None,
            "features": science.probe.features,
            "half": science.probe.half,
        }
    )


def describe(science: Science, permuted: str | None = None) -> str:
    """What is done to the pretrained encoder, and how it is used, in a table's few words.

    `permuted` is said in place of the order of permuted layers, where all orders are one row.
    """
    words = permuted if permuted and science.treatment.order else treatments.describe(science.treatment)
    if science.chain is not None:
        stages = ", ".join(stage.task.name for stage in science.chain.stages)
        if science.chain.mode == "interleave":
            words = f"{words}, interleaved with {stages}"
        elif science.chain.treated is None:
            words = f"after {stages}"
        else:
            words = f"{words} before {stages}" if science.chain.treated == "first" else f"{words} after {stages}"
    if science.probe is not None:
        words = f"layer {science.probe.layer} probed" + ("" if words == "as pretrained" else f", {words}")
    if science.training.epochs == 0:
        words += ", not fine-tuned"
    return words
