"""What the readings of claims say in a store: scores of results, and what analyses left beside them."""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from bertxfer.claims.case import Reading
from bertxfer.claims.claim import SCORED
from bertxfer.claims.progress import Value, ValueOf
from bertxfer.errors import BertxferError
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.trials.analyses import INTACT, LOSS, WHOLE, barrier
from bertxfer.trials.trial import COURSE, Trial

_COMPARED = {"similarity": "pretrained"}  # the model whose attention is measured, where a claim does not say


def values_in(store: Store, trials: Iterable[Trial]) -> ValueOf:
    """A reader of the readings of these trials. What is done stays as it is and is read once."""
    by_id = {trial.id: trial for trial in trials}
    known: dict[Reading, Value] = {}

    def value_of(reading: Reading) -> Value | None:
        if reading not in known:
            found = _value(reading, by_id[reading.trial], store)
            if found is None:
                return None
            known[reading] = found
        return known[reading]

    return value_of


def _value(reading: Reading, trial: Trial, store: Store) -> Value | None:
    """None while the trial, or what is wanted beside its result, is not there or cannot be believed."""
    if not store.complete(trial.id, trial.outputs):
        return None
    try:
        if reading.at:
            analysis, name = reading.metric.split(".", 1)
            number = _READERS[analysis](store, trial.id, name, dict(reading.at))
            result = store.result_alone(trial.id) if analysis in SCORED else None
            return Value(number, 0.0 if result is None else _step(result))
        result = store.scored(trial.scored_by(reading.metric))
        return None if result is None else _score(result, reading.metric)
    except BertxferError:  # damaged: its trial is reported as such elsewhere
        return None


def _score(result: Result, metric: str) -> Value:
    score = result["metrics"].get(metric, result["score"])
    return Value(math.nan if score is None else float(score), _step(result))


def _step(result: Result) -> float:
    """What one row of the dev set changes."""
    rows = result.get("n_dev")
    return 1 / rows if isinstance(rows, int) and rows else 0.0


def _of_attention(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    """The mean over the heads of a layer."""
    where = {"measure": name, "model": at.get("compared", _COMPARED.get(name, "finetuned")), "layer": at["layer"]}
    return _mean(_rows(store, trial_id, "attention"), where, "value")


def _of_weights(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    where = {"reference": at.get("reference", "pretrained"), "module": at.get("module"), "layer": at["layer"]}
    return _mean(_rows(store, trial_id, "weights"), where, name)


def _of_course(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    """After an epoch; a trial that was run again for its course has it in a file of its own."""
    if (store.folder(trial_id) / f"{COURSE}.parquet").is_file():
        events = _rows(store, trial_id, COURSE)
    else:
        try:
            text = (store.folder(trial_id) / "history.jsonl").read_text(encoding="utf-8")
            events = [json.loads(line) for line in text.splitlines() if line.strip()]
        except (OSError, ValueError) as error:
            raise BertxferError(f"the history of {trial_id} cannot be read: {error}") from error
    return _mean(events, {"epoch": at["epoch"]}, name)


def _of_surgery(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    """After an operation on a layer, or a part of it; a change is that from the model as it is."""
    rows = _rows(store, trial_id, "surgery")
    operation = at.get("operation", "pretrained")
    where = {"layer": at["layer"], "module": at.get("module", WHOLE), "operation": operation}
    asked = name.removeprefix("change.")
    after = _mean(rows, {"operation": INTACT} if operation == INTACT else where, asked)
    return after if asked == name else after - _mean(rows, {"operation": INTACT}, asked)


def _of_similarity(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    """Of the fine-tuned encoder, where a claim does not say which is compared, with a reference."""
    pair = {"reference": at.get("reference", "pretrained"), "model": at.get("compared", "finetuned")}
    return _mean(_rows(store, trial_id, "similarity"), {**pair, "layer": at["layer"]}, name)


def _of_path(store: Store, trial_id: str, name: str, at: Mapping[str, Any]) -> float:
    """The barrier is one of the whole line."""
    rows = _rows(store, trial_id, "path")
    if name == "barrier":
        return barrier([row["alpha"] for row in rows], [row[LOSS] for row in rows])
    return _mean(rows, {"alpha": at["alpha"]}, name)


_READERS: dict[str, Callable[[Store, str, str, Mapping[str, Any]], float]] = {
    "attention": _of_attention,
    "weights": _of_weights,
    "course": _of_course,
    "surgery": _of_surgery,
    "similarity": _of_similarity,
    "path": _of_path,
}


def _rows(store: Store, trial_id: str, name: str) -> list[dict[str, Any]]:
    from pyarrow import ArrowException, parquet

    path = store.folder(trial_id) / f"{name}.parquet"
    try:
        rows: list[dict[str, Any]] = parquet.read_table(path).to_pylist()
    except (OSError, ArrowException) as error:
        raise BertxferError(f"{path} cannot be read: {error}") from error
    return rows


def _mean(rows: Iterable[Mapping[str, Any]], where: Mapping[str, Any], value: str) -> float:
    found = [row.get(value) for row in rows if all(row.get(name) == wanted for name, wanted in where.items())]
    numbers = [math.nan if number is None else float(number) for number in found]
    return sum(numbers) / len(numbers) if numbers else math.nan
