"""The dev loss and scores along the straight line from the weights that fine-tuning began with to those it ended in."""

from bertxfer.learning import heads, lines, start
from bertxfer.learning.analysis.finished import Finished, Rows
from bertxfer.trials.analyses import alphas


def measure(finished: Finished) -> Rows:
    """At alpha 0 stands the treated encoder with its new classifier, at 1 the fine-tuned model."""
    trial, model = finished.trial, finished.model
    begun = heads.HeadedModel(start.start(trial, finished.store.artifacts).encoder, trial.science)
    ends = lines.weights_of(begun), lines.weights_of(model)
    del begun
    return lines.along(model, ends, alphas(), finished.dev, trial, finished.device)
