"""What tests of sweeps share: commands in the background, and what the store shows of them."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import warm
from tests.helpers.commands import environment, tiny_words

SLOW = ("training.epochs=1", "data.n=2400")  # a trial of some seconds
Started = subprocess.Popen[str] | warm.Forked
Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a command; whatever becomes of the test, nothing of it is left running."""
    launchers: list[Started] = []

    def run(*words: str, env: dict[str, str] | None = None, cold: bool = False) -> Started:
        with (tmp_path / "launcher.log").open("a") as log:
            launcher = warm.start(words, tmp_path, environment(tmp_path, env), stdout=log, stderr=log, cold=cold)
        launchers.append(launcher)
        return launcher

    yield run
    for launcher in launchers:
        launcher.kill()
    for card in cards(tmp_path):
        with contextlib.suppress(ProcessLookupError):
            os.kill(card["worker"]["pid"], signal.SIGTERM)


def wait_until(true: Callable[[], object], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.05)


def attempts(tmp_path: Path) -> dict[str, list[dict[str, object]]]:
    return {
        folder.name: [json.loads(path.read_text()) for path in sorted((folder / "attempts").glob("*.json"))]
        for folder in (tmp_path / "out" / "trials").iterdir()
    }


def results(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "out" / "trials").glob("*/result.json"))


def cards(tmp_path: Path) -> list[dict[str, Any]]:
    found = []
    for path in (tmp_path / "out" / "sweeps").glob("*/workers/*.json"):
        try:
            found.append(json.loads(path.read_text()))
        except (OSError, ValueError):
            continue
    return found


def running(tmp_path: Path) -> list[dict[str, Any]]:
    """The cards of workers that have a trial, which is named in each."""
    return [{**card, "trial": next(iter(card["attempts"]))} for card in cards(tmp_path) if "attempts" in card]


def sweep_words(shallow_model: Path, *words: str) -> Sequence[str]:
    return [*tiny_words(shallow_model), "hydra.launcher.stale_seconds=5", "-m", *words]


def outcomes(tmp_path: Path) -> dict[str, list[object]]:
    """How each trial's attempts ended, in their order."""
    return {trial: [attempt.get("outcome") for attempt in tries] for trial, tries in attempts(tmp_path).items()}


def launcher_log(tmp_path: Path) -> str:
    return (tmp_path / "launcher.log").read_text()
