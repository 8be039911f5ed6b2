"""The trial that a config means: its scientific config, and where its inputs lie."""

import dataclasses
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

from bertxfer.config import checks, keys
from bertxfer.config.schema import Config, Optimizer, Task, Training
from bertxfer.errors import ConfigError
from bertxfer.tasks import kinds
from bertxfer.tasks.kinds import KINDS
from bertxfer.tasks.task import SpanScience, TaskScience
from bertxfer.trials import model_files, regions
from bertxfer.trials.inputs import STAND_IN, Inputs
from bertxfer.trials.operations import treatment_of
from bertxfer.trials.pretrained import Pretrained
from bertxfer.trials.regions import Anatomy
from bertxfer.trials.schemes import Donor, stream_seed
from bertxfer.trials.science import Chain, DataScience, ModelScience, ProbeScience, Science, StageScience, assemble
from bertxfer.trials.treatment import Treatment

COURSE = "course"  # the output that has the dev scores of every epoch


@dataclass(frozen=True)
class Trial:
    """One scientific config with one seed, where its inputs lie on this machine, and what is wanted of it."""

    id: str
    science: Science
    model_at: str
    data_at: str | None = None  # the file of its rows; null: they are generated
    stages_at: tuple[str | None, ...] = ()  # the same for the stages of its chain
    metrics: tuple[str, ...] = ()  # what is measured, the headline first; no training depends on it
    stages_metrics: tuple[tuple[str, ...], ...] = ()
    outputs: tuple[str, ...] = ()  # beside the result: weights, attention, model, encoder, course
    donors_at: tuple[tuple[str, str], ...] = ()  # of other models whose weights it takes: version and folder

    @property
    def follows_course(self) -> bool:
        """Whether somebody reads the dev scores of every epoch, and not of the last alone."""
        return COURSE in self.outputs or watches_scores(self.science.training)

    @property
    def headline(self) -> str | None:
        """The metric that is the trial's score; before semantics 3 it was part of the science."""
        return self.metrics[0] if self.metrics else self.science.task.headline

    def scored_by(self, headline: str | None) -> "Trial":
        """The same trial, with another of its metrics as its score."""
        if headline is None or headline == self.headline:
            return self
        return dataclasses.replace(self, metrics=(headline, *(name for name in self.metrics if name != headline)))


def trial_of(config: Config, inputs: Inputs | None = None) -> Trial:
    """The trial that a config means; ConfigError where it means none. Callers that ask for many share `inputs`."""
    inputs = inputs or Inputs()
    _check(config)
    model = inputs.model(config.model)
    anatomy = Anatomy(model.family, model.layers, model.heads)
    donors: dict[str, str] = {}
    # After the stages of a chain its own pretrained weights are no longer what is there.
    after_stages = config.intermediate_mode == "chain" and config.treat_before == "last"
    version = "" if config.intermediate and after_stages else model.version
    treatment = treatment_of(config, anatomy, version, partial(_donor, config, model, inputs, donors))
    treated_anatomy = dataclasses.replace(anatomy, layers=treatment.depth(model.layers))
    last, data_at = _stage_science(config, model, inputs, treated_anatomy)
    stages = [stage.config(config) for stage in config.intermediate or []]
    for stage in stages:
        _check(stage)
    stages_anatomy = anatomy if after_stages else treated_anatomy
    before = [_stage_science(stage, model, inputs, stages_anatomy) for stage in stages]
    chain = None
    if before:
        treated = None if treatment == Treatment() or config.intermediate_mode == "interleave" else config.treat_before
        chain = Chain(config.intermediate_mode, tuple(stage for stage, _ in before), treated)
    shape = (model.name, model.version, model.family, model.layers, model.heads)
    science = assemble(
        ModelScience(*shape, last.pooling, config.model.dropout),
        last,
        treatment,
        chain,
        _probe(config, treatment.depth(model.layers)),
        partial(stream_seed, config),
    )
    return Trial(
        science.id,
        science,
        model.where,
        data_at,
        tuple(at for _, at in before),
        _metrics(config.task),
        tuple(_metrics(stage.task) for stage in stages),
        _outputs(config),
        tuple(sorted((version, where) for version, where in donors.items() if version in treatment.donors)),
    )


def _donor(config: Config, model: Pretrained, inputs: Inputs, found: dict[str, str], name: str) -> Donor:
    """Another model of the same shape, by name or folder; where it lies is noted in `found`."""
    other = dataclasses.replace(
        config.model,
        name=name,
        revision=None,
        family=model.family,
        layers=model.layers,
        heads=model.heads,
        positions=model.positions,
    )
    try:
        donor = inputs.model(other)
    except ConfigError as error:
        raise type(error)("donor", error.message) from error
    # An absent donor is another model than an absent model, which has the same stand-in.
    absent = donor.version == STAND_IN and donor.name != model.name
    version = f"{STAND_IN} donor {donor.name}" if absent else donor.version
    found[version] = donor.where
    return Donor(version, donor.name, model_files.same_words(donor.where, model.where))


def _check(config: Config) -> None:
    checks.check(config)
    kinds.check(config.task)
    if config.probe.features is not None and config.frozen is not None:
        raise ConfigError("frozen", "a probe trains nothing of the encoder, so there is nothing to freeze")
    if config.probe.features is not None and KINDS[config.task.kind].per_token:
        raise ConfigError("training", f"a probe reads one state of a text; task={config.task.name} needs every token's")


def _stage_science(
    config: Config, model: Pretrained, inputs: Inputs, anatomy: Anatomy
) -> tuple[StageScience, str | None]:
    """The fine-tuning that a config means, and where its rows lie."""
    task, kind = config.task, KINDS[config.task.kind]
    rows = inputs.rows(task, config.data)
    science = TaskScience(
        name=task.name,
        kind=task.kind,
        version=rows.version,
        labels=tuple(task.labels),
        span=SpanScience(**vars(task.span)) if kind.per_token else None,
        watched=task.headline if watches_scores(config.training) else None,
    )
    pooling = "none" if kind.per_token else config.model.pooling
    if config.probe.features is not None:
        pooling = "cls" if config.probe.features == "pooled" else "none"
    optimizer, training = _normal_optimizer(config.optimizer), dataclasses.replace(config.training, evaluate="last")
    if training.epochs == 0:  # nothing is trained, so how it would be does not matter
        optimizer, training = Optimizer("adam", 0.0), Training(epochs=0, precision=training.precision)
    if config.probe.features is not None:  # a frozen encoder draws no dropout, so nothing depends on the layout
        training = dataclasses.replace(training, packed=True, compiled=False)
    frozen = _frozen(config, anatomy)
    return StageScience(science, _sample(config, model), optimizer, training, pooling, frozen), rows.at


def _frozen(config: Config, anatomy: Anatomy) -> tuple[str, ...]:
    """The regions that are not trained, by names that are always the same for the same regions."""
    if config.frozen is None:
        return ()
    meant = regions.targets(config.frozen, anatomy, "frozen")
    if any(target.head != regions.WHOLE for target in meant):
        raise ConfigError("frozen", "a head is part of larger tensors, which are trained whole; give layers or parts")
    return regions.names(meant, anatomy) if config.training.epochs > 0 else ()


def _metrics(task: Task) -> tuple[str, ...]:
    return (task.headline, *(name for name in task.metrics if name != task.headline))


def watches_scores(training: Training) -> bool:
    """Whether dev scores decide when training stops or which epoch counts. Without epochs they decide nothing."""
    return training.epochs > 0 and (training.stop == "dev_score" or training.report == "best")


def _normal_optimizer(optimizer: Optimizer) -> Optimizer:
    """AdamW that decays nothing is Adam, to the last bit: one training, so one trial."""
    undecayed = optimizer.name == "adamw" and optimizer.weight_decay == 0
    return dataclasses.replace(optimizer, name="adam") if undecayed else optimizer


def _probe(config: Config, layers: int) -> ProbeScience | None:
    probe = config.probe
    if probe.features is None:
        return None
    if (probe.layer is None) == (probe.removed is None):
        raise ConfigError("probe.layer", f"give one of probe.layer=0..{layers} and probe.removed=0..{layers}")
    layer = probe.layer if probe.layer is not None else layers - (probe.removed or 0)
    key = "probe.layer" if probe.layer is not None else "probe.removed"
    if not 0 <= layer <= layers:
        raise ConfigError(key, f"{getattr(probe, key.split('.')[1])} is out of range; on this model it is 0..{layers}")
    holdout = float(probe.holdout) if config.training.stop == "holdout_loss" else None
    return ProbeScience(probe.features, layer, holdout, probe.half)


def _outputs(config: Config) -> tuple[str, ...]:
    """What is to be left beside the result."""
    wanted = []
    for key, known in keys.outputs_of(Config).items():
        value = attrgetter(key)(config)
        for name in value if isinstance(value, (list, tuple)) else [] if value is None else [value]:
            if name not in known:
                raise ConfigError(key, f"{name!r} is not one of {', '.join(known)}")
            if (output := known[name]) is not None:
                if config.probe.features is not None:
                    raise ConfigError(key, "a probe changes nothing in the encoder; it goes with fine-tuning")
                wanted.append(output)
    return tuple(sorted(set(wanted)))


def _sample(config: Config, model: Pretrained) -> DataScience:
    data, task = config.data, config.task
    n = task.default_n if data.n is None and data.fraction is None else data.n
    kind = KINDS[task.kind]
    longest = min(kind.max_length, model.positions) if data.max_length is None else data.max_length
    if longest > model.positions:
        raise ConfigError("data.max_length", f"{longest} is more than the {model.positions} tokens {model.name} takes")
    stride = None
    if kind.per_token:
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
