"""Finished trials in TensorBoard, MLflow or Weights & Biases: told from the store, so that tracking changes no number.

A trial is logged whole, once, after its result is stored. What cannot be logged is said, and can be logged later.
"""

import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.system.files import PATIENCE, alone
from bertxfer.trials import chains
from bertxfer.trials.science import Science

Values = dict[str, float]


@dataclass(frozen=True)
class Story:
    """A finished trial as a tracker shows it."""

    id: str
    title: str
    settings: dict[str, Any]  # flat, with plain values
    course: dict[int, Values]  # what was measured, by step (a probe: by epoch)
    outcome: Values  # the score and the final metrics; what is undefined is left out


def track(trial_id: str, store: Store, names: Sequence[str], say: Callable[[str], None]) -> bool:
    """Logs a finished trial where it is not yet logged. A tracker that fails is said, and fails nothing else."""
    whole = True
    for name in dict.fromkeys(names):
        if is_logged(trial_id, store, name):
            continue
        logged = _mark(trial_id, store, name)
        try:
            logged.parent.mkdir(parents=True, exist_ok=True)
            _log(name, story(trial_id, store), folder(store, name))
            logged.touch()
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            say(f"not tracked  {trial_id}: {name}: {reason}; `python -m bertxfer track {name}` tries again")
            whole = False
    return whole


_hung: set[str] = set()  # trackers that this process waited for in vain


def _log(name: str, told: Story, root: Path) -> None:
    """In a thread, which is left behind if the tracker hangs: the trials to come must not wait for it."""
    if name in _hung:
        raise TimeoutError("it hung before")
    failures: list[Exception] = []

    def log() -> None:
        try:
            LOGGERS[name](told, root)
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=log, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if thread.is_alive():
        _hung.add(name)
        raise TimeoutError(f"it did not answer in {PATIENCE} s")
    if failures:
        raise failures[0]


def lacking(trial_ids: Iterable[str], store: Store, names: Sequence[str]) -> list[tuple[str, str]]:
    """The trials that trackers were not told of, each with the tracker."""
    pairs = ((trial_id, name) for trial_id in trial_ids for name in dict.fromkeys(names))
    return [(trial_id, name) for trial_id, name in pairs if not is_logged(trial_id, store, name)]


def is_logged(trial_id: str, store: Store, name: str) -> bool:
    return _mark(trial_id, store, name).exists()


def _mark(trial_id: str, store: Store, name: str) -> Path:
    return folder(store, name) / "logged" / trial_id


def folder(store: Store, name: str) -> Path:
    return store.root.absolute() / "tracking" / name


def story(trial_id: str, store: Store) -> Story:
    """What the store has of a finished trial."""
    from bertxfer.trials.science import flatten  # pandas: half a second that workers who track nothing need not take

    plain, result = store.config(trial_id), store.result_alone(trial_id)
    assert result is not None, f"{trial_id} has no result"
    science = Science.from_dict(plain)
    treatment = chains.describe(science)
    mini = {"note": MINI_NOTE} if science.model.name == "mini" else {}
    size = f"n={result['n_train']}"
    name = [Path(science.model.name).name, science.task.name, size, treatment, f"seed={science.seeds['order']}"]
    return Story(
        trial_id,
        ", ".join(name),
        {"id": trial_id, "treatment": treatment, **mini, **flatten(plain)},
        _course(store.folder(trial_id) / "history.jsonl"),
        _defined({"score": result["score"], **result["metrics"]}),
    )


def _course(history: Path) -> dict[int, Values]:
    course: dict[int, Values] = {}
    for line in history.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        step = event.pop("step", event.get("epoch"))  # a probe's events are of epochs
        where = "train" if "loss" in event else "dev"
        values = {name if name == "epoch" else f"{where}/{name}": value for name, value in event.items()}
        course.setdefault(step, {}).update(_defined(values))
    return course


def _defined(values: dict[str, float | None]) -> Values:
    return {name: float(value) for name, value in values.items() if value is not None}


def _tensorboard(told: Story, root: Path) -> None:
    from torch.utils.tensorboard import SummaryWriter

    own = root / f"{re.sub('[^A-Za-z0-9_.=-]+', '-', told.title)[:120]}-{told.id}"
    shutil.rmtree(own, ignore_errors=True)  # what a worker that was killed here left
    with SummaryWriter(str(own)) as writer:
        for step, values in told.course.items():
            for name, value in values.items():
                writer.add_scalar(name, value, step)
        plain = {key: value if isinstance(value, (int, float)) else str(value) for key, value in told.settings.items()}
        outcome = {f"result/{name}": value for name, value in told.outcome.items()}
        writer.add_hparams(plain, outcome, run_name=".")  # into this folder, not into one named by the time
        if "note" in told.settings:
            writer.add_text("note", told.settings["note"])


def _mlflow(told: Story, root: Path) -> None:
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    # SQLite takes one writer at a time, and the first one makes the tables.
    with alone(root / "lock"):
        client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{root / 'mlflow.db'}")
        experiment = _mlflow_experiment(client, os.environ.get("MLFLOW_EXPERIMENT_NAME") or "bertxfer", root)
        for old in client.search_runs([experiment], f"tags.`bertxfer.trial` = '{told.id}'"):
            client.delete_run(old.info.run_id)  # what a worker that was killed here left
        now = int(1000 * time.time())
        tags = {"bertxfer.trial": told.id, **({"note": told.settings["note"]} if "note" in told.settings else {})}
        run = client.create_run(experiment, run_name=told.title[:250], tags=tags).info.run_id
        params = [Param(key, str(value)[:500]) for key, value in told.settings.items()]
        course = [(name, value, step) for step, values in told.course.items() for name, value in values.items()]
        outcome = [(f"result/{name}", value, max(told.course, default=0)) for name, value in told.outcome.items()]
        metrics = [Metric(name, value, now, step) for name, value, step in (*course, *outcome)]
        for i in range(0, len(params), 100):  # a request takes a hundred params, and a thousand metrics
            client.log_batch(run, params=params[i : i + 100])
        for i in range(0, len(metrics), 1000):
            client.log_batch(run, metrics=metrics[i : i + 1000])
        client.set_terminated(run)


def _mlflow_experiment(client: Any, name: str, root: Path) -> str:
    found = client.get_experiment_by_name(name)
    if found is not None:
        return str(found.experiment_id)
    elsewhere = os.environ.get("MLFLOW_TRACKING_URI")  # a server has its own place for files
    return str(client.create_experiment(name, None if elsewhere else (root / "files").as_uri()))


def _wandb(told: Story, root: Path) -> None:
    import wandb

    mode: Any = os.environ.get("WANDB_MODE") or "offline"  # without asking anyone for a key; `wandb sync` sends it
    run = wandb.init(
        id=told.id,  # a second run of that id takes the place of the first
        name=told.title[:120],
        project=os.environ.get("WANDB_PROJECT") or "bertxfer",
        dir=os.environ.get("WANDB_DIR") or str(root),
        mode=mode,
        config=told.settings,
        notes=told.settings.get("note"),
        settings=wandb.Settings(silent=True, console="off", x_disable_stats=True),
    )
    try:
        for step, values in sorted(told.course.items()):
            run.log(values, step=step)
        run.summary.update({f"result/{name}": value for name, value in told.outcome.items()})
    except BaseException:
        run.finish(exit_code=1)
        raise
    run.finish()


LOGGERS: dict[str, Callable[[Story, Path], None]] = {"tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb}
