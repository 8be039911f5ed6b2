"""What tests share: the command line as a user types it, composed configs, and small models of every family."""

import subprocess
import sys
from pathlib import Path

import pytest

from bertxfer.config import schema
from bertxfer.config.composer import Composer
from tests.helpers.commands import Run, environment
from tests.helpers.models import bert


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def bertxfer(tmp_path: Path) -> Run:
    """`python -m bertxfer ...` in an empty folder, results in tmp_path/out."""

    def run(*words: str, env: dict[str, str] | None = None, timeout: float = 300) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "bertxfer", *words],
            cwd=tmp_path,
            env=environment(tmp_path, env),
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return run


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A 12-layer, 12-head BERT that speaks the mini language, with random weights."""
    return bert(12, tmp_path_factory.mktemp("tiny") / "tiny")


@pytest.fixture(scope="session")
def low_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with three layers, for tests that tell layers apart."""
    return bert(3, tmp_path_factory.mktemp("low") / "low")


@pytest.fixture(scope="session")
def shallow_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with one layer, for tests in which the training is not what matters."""
    return bert(1, tmp_path_factory.mktemp("shallow") / "shallow")


@pytest.fixture(scope="session")
def composer() -> Composer:
    """Composes as a run does, for tests that want the trials of a multirun and run none."""
    return Composer(schema.conf_dir())
