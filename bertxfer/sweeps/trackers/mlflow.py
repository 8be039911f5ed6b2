"""MLflow: one run per trial, in a local SQLite file unless MLFLOW_TRACKING_URI names a server."""

import os
import time
from pathlib import Path
from typing import Any

from bertxfer.sweeps.trackers.story import Story
from bertxfer.system.files import alone


def log(story: Story, root: Path) -> None:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    # SQLite takes one writer at a time, and the first one makes the tables.
    with alone(root / "lock"):
        client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root / 'mlflow.db'}")
        experiment = _experiment(client, os.environ.get("MLFLOW_EXPERIMENT_NAME") or "bertxfer", root)
        for old in client.search_runs([experiment], f"tags.`bertxfer.trial` = '{story.id}'"):
            client.delete_run(old.info.run_id)  # what a worker that was killed here left
        now = int(1000 * time.time())
        tags = {"bertxfer.trial": story.id, **({"note": story.settings["note"]} if "note" in story.settings else {})}
        run = client.create_run(experiment, run_name=story.title[:250], tags=tags).info.run_id
        params = [Param(key, str(value)[:500]) for key, value in story.settings.items()]
        course = [(name, value, step) for step, values in story.course.items() for name, value in values.items()]
        outcome = [(f"result/{name}", value, max(story.course, default=0)) for name, value in story.outcome.items()]
        metrics = [Metric(name, value, now, step) for name, value, step in (*course, *outcome)]
        for i in range(0, len(params), 100):  # a request takes a hundred params, and a thousand metrics
            client.log_batch(run, params=params[i : i + 100])
        for i in range(0, len(metrics), 1000):
            client.log_batch(run, metrics=metrics[i : i + 1000])
        client.set_terminated(run)


def _experiment(client: Any, name: str, root: Path) -> str:
    existing = client.get_experiment_by_name(name)
    if existing is not None:
        return str(existing.experiment_id)
    elsewhere = os.environ.get("MLFLOW_TRACKING_URI")  # a server has its own place for files
    return str(client.create_experiment(name, None if elsewhere else (root / "files").as_uri()))
