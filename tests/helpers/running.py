"""Trials in this process, the way a worker runs them: what tests use that have no need of another process."""

import json
from pathlib import Path
from typing import Any

from bertxfer.config.schema import Runtime
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.sweeps.draining import drain
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.stop import Stop
from bertxfer.trials.trial import Trial, trial_of
from tests.helpers.configs import composed

RUNTIME = Runtime(device="cpu", threads=1)


def trial(*words: str) -> Trial:
    return trial_of(composed(*words))


def drained(store: Store, *trials: Trial) -> list[str]:
    """Runs trials until none is left, and returns what was said."""
    said: list[str] = []
    drain(trials, Queue(store, "test"), RUNTIME, Stop(), said.append)
    return said


def result(store: Store, one: Trial) -> Result:
    found = store.result(one.id)
    assert found is not None, store.why_failed(one.id)
    return found


def attempts(store: Store, one: Trial) -> list[dict[str, Any]]:
    """What was written down of each attempt at a trial."""
    folder: Path = store.folder(one.id) / "attempts"
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
