"""Stored trials run again: whether their numbers agree bit for bit, to a tolerance, or not.

A trial is run in a scratch folder, by the same code that ran it, with its own number of threads. The stages of a chain
are run again too: an encoder of the store is not trusted here. Nothing is written into the store.
"""

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.errors import BertxferError
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.trials import pretrained
from bertxfer.trials.science import SEMANTICS, Science
from bertxfer.trials.trial import Trial

BITS, CLOSE, APART, UNKNOWN = "bit for bit", "to tolerance", "does not agree", "could not be run again"
_SAME = ("score", "metrics", "n_train", "n_dev", "steps", "epochs", "data_digest", "weights_digest")


@dataclass(frozen=True)
class Verdict:
    trial_id: str
    agreement: str
    words: str = ""
    changed: tuple[str, ...] = ()  # what is not as it was when the result was made

    @property
    def agrees(self) -> bool:
        return self.agreement in (BITS, CLOSE)

    def __str__(self) -> str:
        verdict = f"{self.agreement}{f': {self.words}' if self.words else ''}"
        changed = f" (changed since: {', '.join(self.changed)})" if self.changed else ""
        return f"{self.trial_id}  {verdict}{changed}"


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
    except BertxferError as error:
        return Verdict(trial_id, UNKNOWN, str(error))
    with tempfile.TemporaryDirectory(prefix="bertxfer-verify-") as folder:
        scratch = Store(Path(folder))
        drain([trial], Queue(scratch, "verify"), _runtime(stored), Stop(), say=lambda line: None)
        again = scratch.result(trial_id)
        if again is None:
            return Verdict(trial_id, UNKNOWN, scratch.why_failed(trial_id))
        return compare(stored, again, _predictions(store, trial_id), _predictions(scratch, trial_id), tolerance)


def compare(stored: Result, again: Result, before: Any, now: Any, tolerance: float) -> Verdict:
    """The verdict on two results of one trial and their tables of predictions (`before` is None where it is lost)."""
    trial_id, changed = stored["id"], tuple(_changed(stored["environment"], again["environment"]))
    if stored.get("data_digest") not in (None, again["data_digest"]):
        return Verdict(trial_id, APART, "it was trained or measured on other rows", changed)
    lost = before is None
    equal = all(stored.get(key) == again.get(key) for key in _SAME)
    if equal and not lost and before.equals(now):
        return Verdict(trial_id, BITS, "", changed)
    off = [(name, _off(value, again["metrics"].get(name))) for name, value in stored["metrics"].items()]
    off.append(("score", _off(stored["score"], again["score"])))
    name, most = max(off, key=lambda pair: pair[1])
    words = f"{name} is off by {most:.3g}, {tolerance:g} is allowed" if most else "equal metrics, but not the same bits"
    words += "; its predictions are lost" if lost else f"; {_alike(before, now)}"
    return Verdict(trial_id, CLOSE if most <= tolerance else APART, words, changed)


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
    if not isinstance(inputs, dict):
        raise BertxferError("its result does not say where its model and its rows were")
    return Trial(
        trial_id,
        science,
        pretrained.still_at(inputs["model_at"], science.model.name),
        inputs["data_at"],
        tuple(inputs["stages_at"]),
        tuple(dict.fromkeys([result["headline"], *result["metrics"]])),
        tuple(map(tuple, inputs["stages_metrics"])),
    )


def _runtime(stored: Result) -> Runtime:
    """As many threads as then, since the order of sums decides the last bits; the CPU again if it was the CPU."""
    threads = stored["environment"].get("threads")
    device = "cpu" if stored["environment"].get("device") == "cpu" else "auto"
    return Runtime(device=device, threads=threads if isinstance(threads, int) else None, checkpoint_seconds=1e9)


def _predictions(store: Store, trial_id: str) -> Any:
    from pyarrow import ArrowException, parquet

    try:
        return parquet.read_table(store.folder(trial_id) / "predictions.parquet")
    except (OSError, ArrowException):
        return None


def _alike(before: Any, now: Any) -> str:
    old, new = before["prediction"].to_pylist(), now["prediction"].to_pylist()
    same = sum(a == b for a, b in zip(old, new, strict=False))
    return f"{same} of {max(len(old), len(new))} predictions are the same"


def _off(one: float | None, other: float | None) -> float:
    """How far apart two values are; infinitely, where only one is defined."""
    if one is None or other is None:
        return 0.0 if one is other else float("inf")
    return abs(one - other)


def _changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    return [f"{key} {before[key]} -> {now.get(key)}" for key in before if before[key] != now.get(key)]
