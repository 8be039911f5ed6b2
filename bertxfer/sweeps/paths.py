"""The straight line between two finished trials whose models were kept: is there a barrier between them?

It is a verb and not an analysis: it is about two trials, so neither's folder is the place for its rows, and neither can
make it at its end, when the other may not have begun.
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from bertxfer.errors import BertxferError
from bertxfer.store.results import Result
from bertxfer.store.store import Store, output_name
from bertxfer.sweeps.verify import runtime_of, stored_trial
from bertxfer.system.files import write_whole
from bertxfer.trials.analyses import LOSS, alphas, barrier
from bertxfer.trials.science import flatten
from bertxfer.trials.trial import Trial

MODEL = "model"
# Both have the same tensors, and one dev set and its loss stand for both.
_ALIKE = ("model.version", "model.pooling", "depth", "task.", "data.max_length", "data.stride", "data.dev_n")
_MAY_DIFFER = ("task.watched",)  # what was looked at while training
_WHOLE = {"model.version": "the model", "task.name": "the task", "task.version": "the task"}


@dataclass(frozen=True)
class Crossing:
    """What stands on the line between two trials, from the first to the second."""

    rows: list[dict[str, Any]]
    headline: str
    file: Path
    notes: list[str]

    @property
    def barrier(self) -> float:
        return barrier([row["alpha"] for row in self.rows], [row[LOSS] for row in self.rows])

    def __str__(self) -> str:
        lines = [f"alpha  dev loss  {self.headline}"]
        lines += [f"{row['alpha']:5.2f}  {row[LOSS]:8.4f}  {row[self.headline]:.4f}" for row in self.rows]
        lines.append(f"barrier {self.barrier:.4f}: the highest dev loss above the straight line between the ends'")
        return "\n".join([*lines, *self.notes, str(self.file)])


def cross(ids: tuple[str, str], store: Store, steps: int) -> Crossing:
    """Evaluates the models between those of two trials and writes what they achieve into the results folder."""
    found = [_finished(trial_id, store) for trial_id in ids]
    (first, one), (second, _) = found
    _refuse_unlike(first, second)
    for trial in (first, second):
        if not (store.folder(trial.id) / output_name(MODEL)).is_dir():
            raise BertxferError(f"the model of {trial.id} was not kept; run it again with keep=model")

    from bertxfer.learning import barriers

    rows, digests = barriers.between((first, second), alphas(steps), store, runtime_of(one))
    file = store.root / "paths" / f"{first.id}-{second.id}.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    write_whole(file, partial(_write, rows, digests))
    both = zip(found, digests, strict=True)
    notes = [_other_bits(trial) for (trial, result), digest in both if digest != result.get("weights_digest")]
    assert first.headline is not None
    return Crossing(rows, first.headline, file, notes)


def _finished(trial_id: str, store: Store) -> tuple[Trial, Result]:
    if not store.has(trial_id):
        raise BertxferError(f"{trial_id!r} is not a trial of {store.root}; give its whole id")
    result = store.result(trial_id)
    if result is None:
        raise BertxferError(f"{trial_id} is not finished")
    trial = stored_trial(trial_id, store, result)
    if trial.science.probe is not None:
        raise BertxferError(f"{trial_id} is a probe, which leaves no model")
    return trial, result


def _refuse_unlike(first: Trial, second: Trial) -> None:
    one, other = ({**flatten(trial.science.as_dict()), "depth": trial.science.depth} for trial in (first, second))
    keys = [key for key in one | other if key.startswith(_ALIKE) and key not in _MAY_DIFFER]
    if unlike := [key for key in keys if one.get(key) != other.get(key)]:
        what = next((words for key, words in _WHOLE.items() if key in unlike), unlike[0])
        raise BertxferError(f"{first.id} and {second.id} differ in {what}, so there is no line between their models")


def _other_bits(trial: Trial) -> str:
    return f"note: the kept model of {trial.id} is not to the bit the one that its result is of"


def _write(rows: list[dict[str, Any]], digests: tuple[str, str], path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    metadata = dict(zip(("first_weights_digest", "last_weights_digest"), digests, strict=True))
    parquet.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), path)
