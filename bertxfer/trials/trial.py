"""The trial that a config means: its scientific config, and where its inputs lie."""

import dataclasses
from dataclasses import dataclass

from bertxfer.config.checks import check
from bertxfer.config.schema import Config, Optimizer, Training
from bertxfer.errors import ConfigError
from bertxfer.system import seeds
from bertxfer.tasks.task import SpanScience, TaskScience
from bertxfer.trials.inputs import Inputs
from bertxfer.trials.pretrained import Pretrained
from bertxfer.trials.science import Chain, DataScience, ModelScience, ProbeScience, Science, StageScience, streams_of
from bertxfer.trials.treatments import Treatment, stream_seed, treatment_of


@dataclass(frozen=True)
class Trial:
    """One scientific config with one seed, where its inputs lie on this machine, and what is wanted of it."""

    id: str
    science: Science
    model_at: str
    data_at: str | None = None  # the folder of the task's files, or the hub's name for them
    stages_at: tuple[str | None, ...] = ()  # the same for the stages of its chain
    outputs: tuple[str, ...] = ()  # beside the result: weights, attention, model, encoder


OUTPUTS = {"analysis": ("weights", "attention"), "keep": ("model",)}


def trial_of(config: Config, inputs: Inputs | None = None) -> Trial:
    """The trial that a config means; ConfigError where it means none. `inputs` is for who asks for many."""
    check(config)
    inputs = inputs or Inputs()
    model = inputs.model(config.model)
    treatment = treatment_of(config, model.layers, model.heads)
    last, data_at = _stage_science(config, model, inputs)
    stages = [stage.config(config) for stage in config.intermediate or []]
    for stage in stages:
        check(stage)
    before = [_stage_science(stage, model, inputs) for stage in stages]
    chain = None
    if before:
        treated = None if treatment == Treatment() or config.intermediate_mode == "interleave" else config.treat_before
        chain = Chain(config.intermediate_mode, tuple(stage for stage, _ in before), treated)
    shape = (model.name, model.version, model.family, model.layers, model.heads)
    science = Science(
        model=ModelScience(*shape, last.pooling, config.model.dropout),
        task=last.task,
        data=last.data,
        treatment=treatment,
        optimizer=last.optimizer,
        training=last.training,
        chain=chain,
        probe=_probe(config, model),
        seeds={},
    )
    wanted = streams_of(science)
    own_seeds = {stream: stream_seed(config, stream) for stream in seeds.STREAMS if stream in wanted}
    science = dataclasses.replace(science, seeds=own_seeds)
    return Trial(science.id, science, model.where, data_at, tuple(at for _, at in before), _outputs(config))


def _stage_science(config: Config, model: Pretrained, inputs: Inputs) -> tuple[StageScience, str | None]:
    """The fine-tuning that a config means, and where its rows lie."""
    task = config.task
    origin = inputs.rows(task, config.data)
    science = TaskScience(
        name=task.name,
        kind=task.kind,
        source=origin.source,
        dataset=origin.dataset,
        subset=origin.subset,
        train=origin.train,
        dev=origin.dev,
        version=origin.version,
        header=origin.header,
        text=origin.text,
        label=origin.label,
        labels=tuple(task.labels),
        skip_broken=task.skip_broken,
        metrics=tuple(task.metrics),
        headline=task.headline,
        span=SpanScience(**vars(task.span)) if task.kind == "span" else None,
    )
    pooling = "none" if task.kind == "span" else config.model.pooling
    if config.probe.features is not None:
        pooling = "cls" if config.probe.pooler else "none"
    optimizer, training = config.optimizer, config.training
    if training.epochs == 0:  # nothing is trained, so nothing of how it would be matters
        optimizer, training = Optimizer("adam", 0.0), Training(epochs=0, precision=training.precision)
    if config.probe.features is not None:  # a frozen encoder draws no dropout, so nothing depends on the layout
        training = dataclasses.replace(training, packed=True, compiled=False)
    return StageScience(science, _sample(config, model), optimizer, training, pooling), origin.where


def _probe(config: Config, model: Pretrained) -> ProbeScience | None:
    probe = config.probe
    if probe.features is None:
        return None
    if (probe.layer is None) == (probe.removed is None):
        raise ConfigError(
            "probe.layer", f"give one of probe.layer=0..{model.layers} and probe.removed=0..{model.layers}"
        )
    layer = probe.layer if probe.layer is not None else model.layers - (probe.removed or 0)
    key = "probe.layer" if probe.layer is not None else "probe.removed"
    if not 0 <= layer <= model.layers:
        raise ConfigError(
            key, f"{getattr(probe, key.split('.')[1])} is out of range; on this model it is 0..{model.layers}"
        )
    holdout = float(probe.holdout) if config.training.stop == "holdout_loss" else None
    return ProbeScience(probe.features, layer, probe.pooler, holdout, probe.half)


def _outputs(config: Config) -> tuple[str, ...]:
    """What is to be left beside the result."""
    wanted = []
    for key, known in OUTPUTS.items():
        asked = getattr(config, key)
        for name in asked if isinstance(asked, (list, tuple)) else [] if asked is None else [asked]:
            if name not in known:
                raise ConfigError(key, f"{name!r} is not one of {', '.join(known)}")
            if config.probe.features is not None:
                raise ConfigError(key, "a probe changes nothing in the encoder; it goes with fine-tuning")
            wanted.append(name)
    return tuple(sorted(set(wanted)))


def _sample(config: Config, model: Pretrained) -> DataScience:
    data, task = config.data, config.task
    n = task.default_n if data.n is None and data.fraction is None else data.n
    longest = min(384 if task.kind == "span" else 128, model.positions) if data.max_length is None else data.max_length
    if longest > model.positions:
        raise ConfigError("data.max_length", f"{longest} is more than the {model.positions} tokens {model.name} takes")
    stride = None
    if task.kind == "span":
        room = longest - task.span.question_length - 4  # the special tokens: RoBERTa has four
        usual = longest // 3 if longest // 3 < room else room // 2  # a short window has no third to share
        stride = usual if data.stride is None else data.stride
        if stride >= room:
            raise ConfigError(
                "data.stride",
                f"{stride} leaves no new tokens to a window of data.max_length={longest} beside a question of "
                f"task.span.question_length={task.span.question_length}; it must be below {room}",
            )
    return DataScience(None if n == "all" else n, data.fraction, longest, stride, data.dev_n)
