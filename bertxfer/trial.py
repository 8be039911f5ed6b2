"""One trial, from its scientific config to its result."""

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from bertxfer import (
    architectures,
    data,
    devices,
    encoders,
    environment,
    evaluation,
    heads,
    schemes,
    training,
    treatment,
)
from bertxfer.checkpoints import Checkpoints
from bertxfer.config import Runtime
from bertxfer.data import Dataset
from bertxfer.errors import Interrupted
from bertxfer.files import write_text, write_whole
from bertxfer.identity import Trial
from bertxfer.progress import Progress
from bertxfer.store import Result, Store
from bertxfer.tasks import source_of
from bertxfer.training import State


def never() -> bool:
    return False


def run(
    trial: Trial,
    store: Store,
    runtime: Runtime,
    stop: Callable[[], bool] = never,
    taken_over: Callable[[], bool] = never,
) -> Result:
    """Load the encoder, treat it, load the data, train, evaluate, record.

    After every step `stop` is asked, and whether another worker has taken the trial over.
    """
    science, timings = trial.science, Timings()
    store.begin(trial)
    device = devices.choose(runtime.device)
    devices.prepare(device, runtime.threads, science.training.precision)

    with timings("load"):
        source = source_of(science.task, trial.data_at)
        tokenizer = encoders.tokenizer(trial.model_at, science.model.version)
        train, dev = data.load(science, source, tokenizer, store.tokens)
        encoder = encoders.load(trial.model_at, science.model)

    with timings("treat"):
        family = architectures.family_of(science.model.family)
        redrawn = treatment.apply(science.treatment, encoder, family, science.model.heads, science.seeds.get("redraw"))
        model = heads.Model(encoder, science).to(device)

    if stop():
        raise Interrupted(at=0, steps=0)

    with timings("train"):
        own_names = {model.name_of(name) for name in redrawn}
        optimizer = training.build_optimizer(model, own_names, science.treatment.lr_factor, science.optimizer)
        state = State(model, optimizer, device)
        training.seed_dropout(science.seeds["dropout"])
        checkpoints = Checkpoints(store.checkpoint(trial.id), runtime.checkpoint_seconds)
        if (saved := checkpoints.load()) is not None:
            state.load_state_dict(saved)
        first_step = state.record.step
        with Progress(trial, training.total_steps(len(train), science.training), state.record.step) as progress:

            def evaluate() -> dict[str, Any]:
                with timings("evaluate"):
                    return evaluation.evaluate(model, dev, science.task, device, science.training.precision)

            def after_step() -> None:
                progress.show(state.record)
                stopping, lost = stop(), taken_over()
                if not lost and (stopping or checkpoints.due()):  # what the other worker saves is not ours to replace
                    checkpoints.save(state.state_dict())
                if stopping or lost:
                    raise Interrupted(state.record.step, state.record.step - first_step)

            training.fit(
                state, train, science.task.kind, science.training, science.seeds["order"], evaluate, after_step
            )

    counted = state.record.best if science.training.report == "best" else state.record.last
    assert counted is not None
    _write_predictions(trial, store, counted["predictions"])
    _write_history(trial, store, state)
    result = {
        "id": trial.id,
        "score": _number(counted["score"]),
        "metrics": {name: _number(value) for name, value in counted["metrics"].items()},
        "task": science.task.name,
        "model": science.model.name,
        "treatment": science.as_dict()["treatment"],
        "treatment_text": schemes.describe(science.treatment),
        "seed": science.seeds["order"],
        "n_train": len(train.indices),
        "n_dev": len(dev.indices),
        "data_digest": _data_digest(train, dev),
        "steps": state.record.step,
        "epochs": state.record.epoch,
        "resumed_at_step": None if saved is None else saved["record"]["step"],
        "weights_digest": _weights_digest(model),
        "timings": timings.seconds,
        "environment": environment.describe(device),
    }
    store.finish(trial, result)
    return result


class Timings:
    """Seconds spent under each name, in this attempt."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


def _write_predictions(trial: Trial, store: Store, columns: dict[str, Any]) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in columns.items()})
    write_whole(store.folder(trial.id) / "predictions.parquet", lambda path: parquet.write_table(table, path))


def _write_history(trial: Trial, store: Store, state: State) -> None:
    events = [{key: _number(value) for key, value in event.items()} for event in state.record.history]
    write_text(store.folder(trial.id) / "history.jsonl", "".join(json.dumps(event) + "\n" for event in events))


def _number(value: float) -> float | None:
    """JSON has no nan: a score that is not defined is null."""
    return None if math.isnan(value) else value


def _data_digest(train: Dataset, dev: Dataset) -> str:
    """Says in one word whether two trials saw the same rows."""
    assert train.rows is not None and dev.rows is not None
    return hashlib.sha256(f"{train.rows.digest()} {dev.rows.digest()}".encode()).hexdigest()[:16]


def _weights_digest(model: nn.Module) -> str:
    """Says in one word whether two trials ended in the same weights, to the bit."""
    content = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        content.update(name.encode())
        content.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return content.hexdigest()[:16]
