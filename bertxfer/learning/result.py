"""What the result of any trial says: what was asked for, what it was made of, what came out."""

from typing import Any

from bertxfer.learning.data import Dataset
from bertxfer.learning.digests import data_digest
from bertxfer.learning.evaluation import Evaluation
from bertxfer.learning.start import Start
from bertxfer.store.results import Result, number
from bertxfer.trials import chains
from bertxfer.trials.trial import Trial


def facts(trial: Trial, counted: Evaluation, begin: Start, train: Dataset, dev: Dataset) -> Result:
    """The part of a result that fine-tuning and probing share."""
    science = trial.science
    return {
        "id": trial.id,
        "score": number(counted["score"]),
        "headline": trial.headline,
        "dev_loss": number(counted["loss"]),
        "metrics": {name: number(value) for name, value in counted["metrics"].items()},
        "undefined": counted["undefined"],
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
    """Which model and rows these were, and where they were: what it takes to run the trial again."""
    science = trial.science
    stages = science.chain.stages if science.chain is not None else ()
    return {
        "model_version": science.model.version,
        "model_at": trial.model_at,
        "data_version": science.task.version,
        "data_at": trial.data_at,
        "stages_version": [stage.task.version for stage in stages],
        "stages_at": list(trial.stages_at),
        "donors_at": [list(pair) for pair in trial.donors_at],
        "stages_metrics": [list(names) for names in trial.stages_metrics],
    }
