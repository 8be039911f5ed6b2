"""Stored trials run again: whether their numbers agree bit for bit, to a tolerance, or not.

A trial is run in a scratch folder, by the same code that ran it, with its own number of threads. The stages of a chain
are run again too: an encoder of the store is not trusted here. Nothing is written into the store.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from types import NoneType
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import BertxferError
from bertxfer.store.agreement import APART, BITS, CLOSE, UNKNOWN, Verdict, compare, predictions
from bertxfer.store.contradictions import contradiction
from bertxfer.store.portable import is_left_out
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps import bf16, manifest
from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.trials import pretrained
from bertxfer.trials.science import SEMANTICS, Science
from bertxfer.trials.trial import Trial

_MOST_THREADS = 1024  # a result of somebody else may say anything


def done(store: Store, name: str | None) -> list[str]:
    """The finished trials that a name stands for: a trial, those of a sweep, or all."""
    if name is not None and store.has(name):
        ids = [name]
    elif name is not None:
        ids = [trial.id for trial in manifest.read(manifest.find(store.root, name)).trials]
    else:
        ids = sorted(store.finished())
    finished = [trial_id for trial_id in ids if store.complete(trial_id)]
    if not finished:
        raise BertxferError(f"there is no finished trial {f'of {name} ' if name else ''}in {store.root}")
    return finished


def sample(ids: Sequence[str], size: int, seed: int) -> list[str]:
    """Some of them at random; the same for the same seed."""
    return list(ids) if size <= 0 or size >= len(ids) else sorted(Random(seed).sample(sorted(ids), size))


def verify(trial_id: str, store: Store, tolerance: float) -> Verdict:
    """Runs one stored trial again and compares."""
    try:
        stored = store.result(trial_id)
        assert stored is not None
        trial = stored_trial(trial_id, store, stored)
        words = contradiction(stored, store.known_config(trial_id), predictions(store, trial_id))
    except BertxferError as error:
        return Verdict(trial_id, UNKNOWN, str(error))
    if words is not None:
        return Verdict(trial_id, APART, f"its result {words}")
    with tempfile.TemporaryDirectory(prefix="bertxfer-verify-") as folder:
        scratch, runtime = Store(Path(folder)), runtime_of(stored)
        try:
            bf16.check([trial], scratch, runtime.device, say=lambda line: None)
        except BertxferError as error:
            return Verdict(trial_id, UNKNOWN, str(error))
        drain([trial], Queue(scratch, "verify"), runtime, Stop(), say=lambda line: None)
        again = scratch.result(trial_id)
        if again is None:
            return Verdict(trial_id, UNKNOWN, scratch.why_failed(trial_id))
        return compare(stored, again, predictions(store, trial_id), predictions(scratch, trial_id), tolerance)


def counted(verdicts: Sequence[Verdict]) -> str:
    counts = [(sum(verdict.agreement == kind for verdict in verdicts), kind) for kind in (BITS, CLOSE, APART, UNKNOWN)]
    return f"{len(verdicts)} run again: " + ", ".join(f"{count} {kind}" for count, kind in counts if count)


def stored_trial(trial_id: str, store: Store, result: Result) -> Trial:
    """The trial as it was run: its stored config, and where its inputs were."""
    science = Science.from_dict(store.config(trial_id))
    if science.semantics != SEMANTICS:
        raise BertxferError(
            f"it was computed under semantics {science.semantics}, and this version computes {SEMANTICS}; check out "
            f"revision {result['environment'].get('git_revision') or 'of that time'}"
        )
    inputs = result.get("inputs")
    if not isinstance(inputs, dict) or not _are_places(inputs):
        raise BertxferError("its result does not say where its model and its rows were")
    headline = result.get("headline") or science.task.headline
    if not isinstance(headline, str):
        raise BertxferError("its result does not say which metric its score is")
    model_at = pretrained.still_at(inputs["model_at"], science.model.name, science.model.version)
    pretrained.refuse_absent(model_at, science.model.name)
    donors_at = pretrained.donors_still_at(inputs.get("donors_at", []), science.treatment)
    if is_left_out(model_at) or any(
        is_left_out(where) for _, where in donors_at
    ):  # rows need no place: they are found on the shelf by their version
        raise BertxferError(
            f"it came in a packed file, and {science.model.name}, or a donor, was not fetched on this machine"
        )
    return Trial(
        trial_id,
        science,
        model_at,
        inputs["data_at"],
        tuple(inputs["stages_at"]),
        tuple(dict.fromkeys([headline, *result["metrics"]])),
        tuple(map(tuple, inputs["stages_metrics"])),
        donors_at=donors_at,
    )


def _are_places(inputs: dict[str, Any]) -> bool:
    """Whether all is there, of the right types, that it takes to find a trial's inputs."""
    stages, metrics, donors = inputs.get("stages_at"), inputs.get("stages_metrics"), inputs.get("donors_at", [])
    return (
        isinstance(inputs.get("model_at"), str)
        and "data_at" in inputs
        and isinstance(inputs["data_at"], (str, NoneType))
        and isinstance(stages, list)
        and all(isinstance(where, (str, NoneType)) for where in stages)
        and isinstance(donors, list)
        and all(isinstance(pair, list) and [type(one) for one in pair] == [str, str] for pair in donors)
        and isinstance(metrics, list)
        and all(isinstance(names, list) and all(isinstance(name, str) for name in names) for names in metrics)
    )


def runtime_of(stored: Result) -> Runtime:
    """As many threads as then, since the order of sums decides the last bits; the CPU again if it was the CPU."""
    threads = stored["environment"].get("threads")
    threads = threads if isinstance(threads, int) and 1 <= threads <= _MOST_THREADS else None
    device = "cpu" if stored["environment"].get("device") == "cpu" else "auto"
    return Runtime(device=device, threads=threads, checkpoint_seconds=1e9)
