"""The stages that `intermediate` asks for: tasks to be fine-tuned on first, with settings of their own or without."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from bertxfer.config.schema import Config, Data, Optimizer, Probe, Task, Training
from bertxfer.errors import ConfigError

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
    stages = config.intermediate
    if stages is None:
        if config.scheme == "sequential":
            raise ConfigError("intermediate", "scheme=sequential needs it; give intermediate=rte, or a list of tasks")
        return []
    return [_stage(config, item, task_named) for item in (stages if isinstance(stages, (list, tuple)) else [stages])]


def _stage(config: Config, item: Any, task_named: Callable[[str], Task]) -> Stage:
    settings = item if isinstance(item, Mapping) else {"task": item}
    if not isinstance(settings.get("task"), str):
        raise ConfigError("intermediate", f"{item!r} is neither the name of a task nor a mapping with `task`")
    known = ("task", "data", "optimizer", "training")
    for key in settings:
        if key not in known:
            raise ConfigError(f"intermediate.{key}", f"a stage has no such setting; it has {', '.join(known)}")
    if config.intermediate_mode == "interleave" and {"optimizer", "training"} & set(settings):
        raise ConfigError("intermediate", "interleaved tasks share one training; only `data` may be their own")
    if config.probe.features is not None and "training" not in settings:
        raise ConfigError(
            "intermediate",
            "the training of a probe does not suit a stage; give the stage its own: training: {epochs: 3}",
        )
    training = config.training if config.probe.features is None else Training()
    return Stage(
        task_named(settings["task"]),
        _merged(config.data, settings.get("data"), "data"),
        _merged(config.optimizer, settings.get("optimizer"), "optimizer"),
        _merged(training, settings.get("training"), "training"),
    )


def _merged(common: T, changes: Any, group: str) -> T:
    """A stage's settings of one group: the trial's, with what the stage changes in them."""
    if changes is None:
        return common
    settings = OmegaConf.structured(common)
    if group == "data" and isinstance(changes, Mapping) and {"n", "fraction"} & set(changes):
        settings.n = settings.fraction = None  # the one that is given replaces the other
    try:
        merged = OmegaConf.to_object(OmegaConf.merge(settings, changes))
    except (OmegaConfBaseException, ValueError, TypeError) as error:
        raise ConfigError(f"intermediate.{group}", str(error).splitlines()[0]) from error
    assert isinstance(merged, type(common))
    return merged
