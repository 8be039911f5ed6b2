"""One trial, from its scientific config to its result."""

import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.config.schema import Runtime
from bertxfer.errors import Interrupted, TrialError
from bertxfer.learning import analysis, data, devices, encoders, evaluation, heads, start, training
from bertxfer.learning import vocabulary as vocabularies
from bertxfer.learning.analysis.finished import Finished
from bertxfer.learning.checkpoints import Checkpoints
from bertxfer.learning.data import Dataset
from bertxfer.learning.evaluation import Evaluation
from bertxfer.learning.progress import Progress
from bertxfer.learning.start import Start
from bertxfer.learning.training import Part, State
from bertxfer.store.results import Result, number
from bertxfer.store.store import Store
from bertxfer.system import environment
from bertxfer.tasks import source_of
from bertxfer.trials import chains
from bertxfer.trials.science import SEMANTICS, Science
from bertxfer.trials.trial import Trial


def never() -> bool:
    return False


def run(
    trial: Trial,
    store: Store,
    runtime: Runtime,
    stop: Callable[[], bool] = never,
    taken_over: Callable[[], bool] = never,
) -> Result:
    """Load the data and the encoder, treat it, train, evaluate, analyse, record.

    After every step `stop` is asked, and whether another worker has taken the trial over.
    """
    science, timings = trial.science, Timings()
    if science.semantics != SEMANTICS:
        raise TrialError("it was planned by a version that computes other results; launch the sweep again")
    store.begin(trial)
    device = devices.choose(runtime.device)
    devices.prepare(device, runtime.threads, science.training.precision)

    with timings("load"):
        train, dev = load_data(trial, store)

    with timings("treat"):
        begin = start.start(trial, store.artifacts)
        model = heads.HeadedModel(begin.encoder, science)
        parts = [Part(model, train, science.task.kind), *_interleaved(trial, model, store)]
        words = encoders.words(trial.model_at, science.model)
        vocabulary = vocabularies.trim(model.encoder, [dev, *(part.rows for part in parts)], science.optimizer, words)
        parts = [replace(part, rows=vocabulary.renumbered(part.rows)) for part in parts]
        trained = nn.ModuleList([part.model for part in parts]).to(device)

    if stop():
        raise Interrupted(at=0, steps=0)

    renumbered_dev = vocabulary.renumbered(dev)

    def evaluate() -> Evaluation:
        with timings("evaluate"):
            return evaluation.evaluate(model, renumbered_dev, science.task, device, science.training.precision)

    with timings("train"):
        redrawn = {f"0.{model.name_of(name)}" for name in begin.redrawn}
        optimizer = training.build_optimizer(trained, redrawn, science.treatment.lr_factor, science.optimizer)
        state = State(trained, optimizer, device)
        training.seed_dropout(science.seeds["dropout"])
        total = training.total_steps(parts, science.training)
        with Between(trial, store, runtime, state, total, stop, taken_over) as between:
            training.fit(state, parts, science.training, science.seeds["order"], evaluate, between.steps)

    record = state.record
    counted = (record.best if science.training.report == "best" else record.last) or evaluate()
    decay = training.decay_without_gradient(state, vocabularies.words_of(model.encoder).weight, total, science.training)
    state.forget_moments()
    vocabulary.restore(model.encoder, decay)
    encoders.refuse_changed(trial.model_at, science.model.version)
    refuse_what_is_no_number(model.state_dict())
    weights = weights_digest(model.state_dict())
    with timings("analyse"):
        analysis.write(Finished(trial, model, dev, store, device), weights)
    result = {
        **facts(trial, counted, begin, train, dev),
        "steps": record.step,
        "epochs": record.epoch,
        "resumed_at_step": between.resumed_at,
        "weights_digest": weights,
        "timings": timings.seconds,
        "peak_memory_mb": environment.peak_memory_mb(),
        "environment": environment.describe(device),
    }
    store.record(trial, result, counted["predictions"], record.history)
    return result


def facts(trial: Trial, counted: Evaluation, begin: Start, train: Dataset, dev: Dataset) -> Result:
    """What every result says: what was asked for, what it was made of, what came out."""
    science = trial.science
    return {
        "id": trial.id,
        "score": number(counted["score"]),
        "metrics": {name: number(value) for name, value in counted["metrics"].items()},
        "undefined": counted.get("undefined", {}),  # a checkpoint of the first release has none
        "task": science.task.name,
        "model": science.model.name,
        "treatment": science.as_dict()["treatment"],
        "treatment_text": chains.describe(science),
        "begun_from": begin.begun_from,
        "seed": science.seeds["order"],
        "n_train": len(train.indices),
        "n_dev": len(dev.indices),
        "data_digest": data_digest(train, dev),
        "inputs": inputs(trial),
    }


def inputs(trial: Trial) -> dict[str, Any]:
    """Which model and rows these were, and where they lay: what it takes to run the trial again."""
    science = trial.science
    stages = science.chain.stages if science.chain is not None else ()
    return {
        "model_version": science.model.version,
        "model_at": trial.model_at,
        "data_version": science.task.version,
        "data_at": trial.data_at,
        "stages_version": [stage.task.version for stage in stages],
        "stages_at": list(trial.stages_at),
    }


def load_data(trial: Trial, store: Store) -> tuple[Dataset, Dataset]:
    """The training subsample and the dev set of the trial's own task."""
    return _data(trial, trial.science, trial.data_at, store)


def _interleaved(trial: Trial, model: heads.HeadedModel, store: Store) -> Iterator[Part]:
    """The other tasks of an interleaved training: their own rows and heads, on the same encoder."""
    chain = trial.science.chain
    if chain is None or chain.mode != "interleave":
        return
    for stage, where in enumerate(trial.stages_at):
        science = start.with_stage(trial.science, stage)
        rows, _ = _data(trial, science, where, store)
        yield Part(heads.HeadedModel(model.encoder, science, model.pooler), rows, science.task.kind)


def _data(trial: Trial, science: Science, where: str | None, store: Store) -> tuple[Dataset, Dataset]:
    tokenizer = encoders.tokenizer(trial.model_at, science.model.version)
    return data.load(science, source_of(science.task, where), tokenizer, store.tokens)


class Between:
    """What happens between steps: progress is shown, checkpoints are saved, a wish to stop is heard."""

    def __init__(
        self,
        trial: Trial,
        store: Store,
        runtime: Runtime,
        state: State,
        total: int,
        stop: Callable[[], bool],
        taken_over: Callable[[], bool],
    ) -> None:
        self.state, self.stop, self.taken_over = state, stop, taken_over
        self.checkpoints = Checkpoints(store.checkpoint(trial.id), runtime.checkpoint_seconds)
        saved = self.checkpoints.load()
        if saved is not None:
            state.load_state_dict(saved)
        self.resumed_at: int | None = None if saved is None else saved["record"]["step"]
        self.first_step = state.record.step
        self.progress = Progress(trial, total, state.record.step)

    def __enter__(self) -> "Between":
        self.progress.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self.progress.__exit__(*exception)

    def steps(self) -> None:
        self.progress.show(self.state.record)
        stopping, lost = self.stop(), self.taken_over()
        if not lost and (stopping or self.checkpoints.due()):  # what the other worker saves is not ours to replace
            self._save()
        if stopping or lost:
            raise Interrupted(self.state.record.step, self.state.record.step - self.first_step)

    def _save(self) -> None:
        """A disk that is full or away costs a checkpoint, and not the trial."""
        try:
            self.checkpoints.save(self.state.state_dict())
        except OSError as error:
            self.checkpoints.put_off()
            print(f"no checkpoint was saved: {error}", file=sys.stderr, flush=True)


class Timings:
    """Seconds spent under each name, in this attempt."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)


def data_digest(train: Dataset, dev: Dataset) -> str:
    """Says in one word whether two trials saw the same rows."""
    assert train.rows is not None and dev.rows is not None
    return hashlib.sha256(f"{train.rows.digest()} {dev.rows.digest()}".encode()).hexdigest()[:16]


def refuse_what_is_no_number(tensors: dict[str, Tensor]) -> None:
    """The last step can ruin weights after the last loss was seen, and rows that no dev text uses hide it."""
    bad = [name for name, tensor in sorted(tensors.items()) if not evaluation.is_finite(tensor)]
    if bad:
        told = f"{bad[0]}{f' and {len(bad) - 1} other tensors' if len(bad) > 1 else ''}"
        said = "the weights are no finite numbers after the last step"
        raise TrialError(f"{said}: {told}; a lower optimizer.lr may help")


def weights_digest(tensors: dict[str, Tensor]) -> str:
    """Says in one word whether two trials ended in the same weights, to the bit."""
    content = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        content.update(name.encode())
        content.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return content.hexdigest()[:16]
