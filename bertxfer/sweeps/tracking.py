"""Finished trials in TensorBoard, MLflow or Weights & Biases: read from the store, so that tracking changes no number.

A trial is logged whole, once, after its result is stored. What cannot be logged is reported, and can be logged later.
"""

import json
import threading
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from bertxfer.store.store import Store
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.sweeps.trackers import TRACKERS
from bertxfer.sweeps.trackers.story import Story, Values
from bertxfer.system.files import PATIENCE, refuse_links
from bertxfer.trials import chains
from bertxfer.trials.science import Science, flatten


def track(trial_id: str, store: Store, names: Sequence[str], say: Callable[[str], None]) -> bool:
    """Logs a finished trial where it is not logged yet. A tracker that fails is reported, and fails nothing else."""
    whole = True
    for name in dict.fromkeys(names):
        if is_logged(trial_id, store, name):
            continue
        logged = _mark(trial_id, store, name)
        try:
            refuse_links(store.root.absolute(), "tracking", name, "logged", trial_id)
            logged.parent.mkdir(parents=True, exist_ok=True)
            _log(name, story(trial_id, store), folder(store, name))
            logged.touch()
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            say(f"not tracked  {trial_id}: {name}: {reason}; `python -m bertxfer track {name}` tries again")
            whole = False
    return whole


_hung: set[str] = set()  # trackers that this process waited for in vain


def _log(name: str, trial: Story, root: Path) -> None:
    """In a thread, which is left behind if the tracker hangs: the trials to come must not wait for it."""
    if name in _hung:
        raise TimeoutError("it hung before")
    failures: list[Exception] = []

    def log() -> None:
        try:
            TRACKERS[name](trial, root)
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
    """The trials that are missing in trackers, each with the tracker."""
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
        step = event.pop("step", event.get("epoch"))  # a probe's events are epochs
        where = "train" if "loss" in event else "dev"
        values = {name if name == "epoch" else f"{where}/{name}": value for name, value in event.items()}
        course.setdefault(step, {}).update(_defined(values))
    return course


def _defined(values: dict[str, float | None]) -> Values:
    return {name: float(value) for name, value in values.items() if value is not None}
