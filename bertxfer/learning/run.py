"""One trial, from its scientific config to its result."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from torch import nn

from bertxfer.config.schema import Runtime
from bertxfer.errors import Interrupted, TrialError
from bertxfer.learning import analysis, data, devices, encoders, evaluation, heads, start, training, tuned
from bertxfer.learning import vocabulary as vocabularies
from bertxfer.learning.analysis.finished import Finished
from bertxfer.learning.between_steps import BetweenSteps
from bertxfer.learning.data import Dataset
from bertxfer.learning.digests import weights_digest
from bertxfer.learning.evaluation import Evaluation
from bertxfer.learning.finite import refuse_non_finite
from bertxfer.learning.result import facts
from bertxfer.learning.timings import Timings
from bertxfer.learning.training import Part, State
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.system import environment
from bertxfer.tasks import source_of
from bertxfer.trials import pretrained
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

    `stop` is asked before the first step and after every step. After every step `taken_over` is asked, too: whether
    another worker has the trial now.
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
        tuned.freeze(model, science)
        trained = nn.ModuleList([part.model for part in parts]).to(device)

    if stop():
        raise Interrupted(at=0, steps=0)

    renumbered_dev = vocabulary.renumbered(dev)

    def evaluate() -> Evaluation:
        with timings("evaluate"):
            return evaluation.evaluate(model, renumbered_dev, trial, device)

    with timings("train"):
        rates = {f"0.{name}": rate for name, rate in tuned.rates(model, science, begin.redrawn).items()}
        optimizer = training.build_optimizer(trained, rates, science.optimizer)
        state = State(trained, optimizer, device)
        training.seed_dropout(science.seeds["dropout"])
        total = training.total_steps(parts, science.training)
        with BetweenSteps(trial, store, runtime, state, total, stop, taken_over) as between:
            order, each_epoch = science.seeds["order"], trial.follows_course
        training.fit(state, parts, science.training, order, evaluate, between.after_step, each_epoch)

    record = state.record
    counted = (record.best if science.training.report == "best" else record.last) or evaluate()
    counted = evaluation.by_metrics_of(trial, counted)
    decay = training.decay_without_gradient(state, vocabularies.words_of(model.encoder).weight, total, science.training)
    state.forget_moments()
    vocabulary.restore(model.encoder, decay)
    encoders.refuse_changed(trial.model_at, science.model.version)
    refuse_non_finite(model.state_dict())
    weights = weights_digest(model.state_dict())

    with timings("analyse"):
        analysis.write(Finished(trial, model, dev, store, device, record.course), weights)

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


def load_data(trial: Trial, store: Store) -> tuple[Dataset, Dataset]:
    """The training subsample and the dev set of the trial's own task."""
    pretrained.refuse_absent(trial.model_at, trial.science.model.name)
    return _data(trial, trial.science, trial.data_at, store)


def _interleaved(trial: Trial, model: heads.HeadedModel, store: Store) -> Iterator[Part]:
    """The other tasks of an interleaved training: their own rows and heads, on the same encoder."""
    chain = trial.science.chain
    if chain is None or chain.mode != "interleave":
        return
    for stage, where in enumerate(trial.stages_at):
        science = start.with_stage(trial.science, stage)
        rows, _ = _data(trial, science, where, store)
        other = heads.HeadedModel(model.encoder, science, model.pooler)
        tuned.freeze(other, trial.science)  # its own pooler, if it has one
        yield Part(other, rows, science.task.kind)


def _data(trial: Trial, science: Science, where: str | None, store: Store) -> tuple[Dataset, Dataset]:
    tokenizer = encoders.tokenizer(trial.model_at, science.model.version)
    return data.load(science, source_of(science.task, where), tokenizer, store.tokens)
