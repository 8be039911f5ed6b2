"""Chains: fine-tuning stages in front of a trial, and the trial that each prefix of a chain is."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from bertxfer.trials.regions import in_words
from bertxfer.trials.science import Chain, Science, assemble, identify, nameless
from bertxfer.trials.treatment import Treatment
from bertxfer.trials.treatment import describe as describe_treatment
from bertxfer.trials.trial import Trial


def prefix_of(trial: Trial) -> Trial | None:
    """The trial whose encoder this one begins with; None where it begins with the pretrained one.

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
    prefix = assemble(science.model, last, treatment, chain, None, science.seeds.__getitem__)
    *stages_at, data_at = trial.stages_at
    *stages_metrics, metrics = trial.stages_metrics
    return Trial(
        prefix.id,
        prefix,
        trial.model_at,
        data_at,
        tuple(stages_at),
        metrics,
        tuple(stages_metrics),
        ("encoder",),
        trial.donors_at,
    )


def prefixes(trial: Trial) -> Iterator[Trial]:
    """Every stage in front of a trial, the nearest first."""
    while (prefix := prefix_of(trial)) is not None:
        yield prefix
        trial = prefix


def stage_ids(science: Science) -> list[str]:
    """The ids of all stages in front of a trial, wherever its inputs are and whatever is measured of them."""
    count = len(science.chain.stages) if science.chain is not None else 0
    trial = Trial(science.id, science, "", None, (None,) * count, (), ((),) * count)
    return [prefix.id for prefix in prefixes(trial)]


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
            "encoder": science.model.version,
            "begun_from": None if prefix is None else prefix.id,
            "treatment": nameless(science.as_dict())["treatment"] if due == science.treatment else None,
            "redraw": science.seeds.get("redraw") if due.draws else None,
            "features": science.probe.features,
            "half": science.probe.half,
        }
    )


def describe(science: Science, permuted: str | None = None) -> str:
    """What is done to the pretrained encoder, and how it is used, in a table's few words.

    `permuted` takes the place of the order of permuted layers, where all orders share one row.
    """
    words = describe_treatment(science.treatment, science.model.layers, permuted)
    if science.chain is not None:
        stages = ", ".join(stage.task.name for stage in science.chain.stages)
        if science.chain.mode == "interleave":
            words = f"{words}, interleaved with {stages}"
        elif science.chain.treated is None:
            words = f"after {stages}"
        else:
            words = f"{words} before {stages}" if science.chain.treated == "first" else f"{words} after {stages}"
    if science.probe is not None:
        trained = " with a trained pooler" if science.probe.pooler else ""  # as before semantics 3
        words = f"layer {science.probe.layer} probed{trained}" + ("" if words == "as pretrained" else f", {words}")
    if science.frozen:
        words += f", {in_words(science.frozen)} frozen"
    if science.training.epochs == 0:
        words += ", not fine-tuned"
    return words
