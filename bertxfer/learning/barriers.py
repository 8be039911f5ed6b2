"""The straight line between the kept models of two trials."""

from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.learning import devices, kept_model, lines
from bertxfer.learning.digests import weights_digest
from bertxfer.learning.run import load_data
from bertxfer.store.store import Store, output_name
from bertxfer.trials.trial import Trial


def between(
    trials: tuple[Trial, Trial], alphas: list[float], store: Store, runtime: Runtime
) -> tuple[list[dict[str, Any]], tuple[str, str]]:
    """The dev loss and scores at each alpha, by the metrics of the first trial, and the digests of both models."""
    device = devices.choose(runtime.device)
    devices.prepare(device, runtime.threads, trials[0].science.training.precision)
    _, dev = load_data(trials[0], store)
    first, last = (kept_model.read(trial, store.folder(trial.id) / output_name("model")) for trial in trials)
    digests = weights_digest(first.state_dict()), weights_digest(last.state_dict())
    ends = lines.weights_of(first), lines.weights_of(last)
    return lines.along(last.to(device), ends, alphas, dev, trials[0], device), digests
