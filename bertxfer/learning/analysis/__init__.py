"""What fine-tuning changed, measured at the end of a trial, so that no fine-tuned model need be kept."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertxfer.learning import kept_model, start
from bertxfer.learning.analysis import attention, weights
from bertxfer.learning.data import Dataset
from bertxfer.learning.heads import Model
from bertxfer.store.store import Store
from bertxfer.system.files import write_whole
from bertxfer.trials.trial import Trial

Rows = list[dict[str, Any]]


def write(trial: Trial, model: Model, dev: Dataset, store: Store, device: torch.device, weights_digest: str) -> None:
    """Leaves in the trial's folder what is wanted of it beside its result and is not there."""
    folder = store.folder(trial.id)
    for output in store.lacking(trial.id, trial.outputs):
        if output == "encoder":
            start.keep(model, store.artifacts, trial.id)
        elif output == "model":
            kept_model.write(trial, model, folder / "model")
        else:
            rows = _MEASURES[output](trial, model, dev, store, device)
            write_whole(folder / f"{output}.parquet", partial(_write, rows, weights_digest))


def references(trial: Trial, store: Store) -> Iterator[tuple[str, nn.Module]]:
    """The encoders that a fine-tuned one is compared with: the pretrained one, and the one fine-tuning began with."""
    yield "pretrained", start.pretrained(trial)
    yield "treated", start.start(trial, store.artifacts).encoder


def _weights(trial: Trial, model: Model, dev: Dataset, store: Store, device: torch.device) -> Rows:
    return [
        {"reference": name, **row}
        for name, encoder in references(trial, store)
        for row in weights.distances(encoder, model, trial.science.model)
    ]


def _attention(trial: Trial, model: Model, dev: Dataset, store: Store, device: torch.device) -> Rows:
    others = dict(references(trial, store))
    return attention.compare(others, model.encoder, dev, trial, device)


_MEASURES: dict[str, Callable[[Trial, Model, Dataset, Store, torch.device], Rows]] = {
    "weights": _weights,
    "attention": _attention,
}


def _write(rows: Rows, weights_digest: str, path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.Table.from_pylist(rows)
    parquet.write_table(table.replace_schema_metadata({"weights_digest": weights_digest}), path)
