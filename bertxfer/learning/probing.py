"""Probes: classifiers on the states of a frozen encoder, those of all layers and seeds trained as one stack."""

from collections.abc import Callable, Sequence

import torch

from bertxfer.config.schema import Runtime
from bertxfer.errors import Interrupted, TrialError
from bertxfer.learning import devices, evaluation, features, start
from bertxfer.learning.data import Dataset
from bertxfer.learning.digests import weights_digest
from bertxfer.learning.finite import refuse_non_finite
from bertxfer.learning.probes.fitting import fit
from bertxfer.learning.probes.probe_rows import layers_of, rows_of
from bertxfer.learning.probes.stack import Stack
from bertxfer.learning.result import facts
from bertxfer.learning.run import load_data
from bertxfer.learning.timings import Timings
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.system import environment
from bertxfer.trials.trial import Trial


def run(trials: Sequence[Trial], store: Store, runtime: Runtime, stop: Callable[[], bool]) -> list[Result | TrialError]:
    """Load the data, get the states of the layers, train all probes, evaluate and record each.

    The trials differ in their layers and seeds only. One whose loss is not finite fails without the others.
    """
    first, timings = trials[0], Timings()
    for trial in trials:
        store.begin(trial)
    device = devices.choose(runtime.device)
    devices.prepare(device, runtime.threads, first.science.training.precision)

    def between() -> None:
        if stop():
            raise Interrupted(at=0, steps=0)  # features are kept in parts; a probe starts over, which takes seconds

    with timings("load"):
        sets = _sets(trials, store)
        layers = sorted({trial.science.probe.layer for trial in trials if trial.science.probe is not None})
        begin = start.start(first, store.artifacts)
        datasets = [rows for pair in sets.values() for rows in pair]
        states, positions = features.collect(first, datasets, layers, store.artifacts, begin.encoder, device, between)
        states = states.to(device)

    with timings("train"):
        stack = Stack(trials, begin.encoder).to(device)
        probes = [rows_of(trial, *sets[_sample(trial)], positions, layers) for trial in trials]
        course = fit(stack, states, probes, first.science, between)

    with timings("evaluate"):
        outputs = stack.on(states, layers_of(probes, device), torch.stack([rows.dev for rows in probes])).cpu()
    shares = {name: round(seconds / len(trials), 4) for name, seconds in timings.seconds.items()}
    results: list[Result | TrialError] = []
    for i, trial in enumerate(trials):
        train, dev = sets[_sample(trial)]
        try:
            course.refuse_non_finite(i)
            refuse_non_finite(stack.weights(i))
            judged = evaluation.judged(list(outputs[i]), dev, trial)
        except TrialError as error:
            store.fail(trial, error)
            results.append(error)
            continue
        result = {
            **facts(trial, judged, begin, train, dev),
            "n_holdout": len(probes[i].held),
            "steps": course.steps,
            "epochs": course.epochs[i],
            "counted_epoch": course.counted[i],
            "weights_digest": weights_digest(stack.weights(i)),
            "timings": shares,  # its share of the time that all of them took
            "together": len(trials),
            "environment": environment.describe(device),
        }
        store.record(trial, result, judged["predictions"], course.history(i))
        results.append(result)
    return results


def _sets(trials: Sequence[Trial], store: Store) -> dict[str, tuple[Dataset, Dataset]]:
    """Training and dev rows by the seed of the subsample; all layers share them."""
    sets: dict[str, tuple[Dataset, Dataset]] = {}
    for trial in trials:
        if _sample(trial) not in sets:
            sets[_sample(trial)] = load_data(trial, store)
    return sets


def _sample(trial: Trial) -> str:
    return str(trial.science.seeds.get("subsample"))
