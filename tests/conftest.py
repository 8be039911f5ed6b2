"""Fixtures of all tests: no hub, the command line as a user types it, untrained BERTs of a few depths, a composer."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertxfer.config import schema
from bertxfer.config.composer import Composer
from tests.helpers import warm
from tests.helpers.commands import Run, environment
from tests.helpers.models import bert


@pytest.fixture(autouse=True, scope="session")
def _no_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HF_HUB_OFFLINE", "1")
        patched.setenv("BERTXFER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def bertxfer(tmp_path: Path) -> Run:
    """`python -m bertxfer ...` in an empty folder, results in tmp_path/out.

    It is forked from a process that has imported everything unless its environment forbids that, or `cold` does.
    """

    def run(
        *words: str, env: dict[str, str] | None = None, timeout: float = 300, cold: bool = False
    ) -> subprocess.CompletedProcess[str]:
        return warm.run(words, tmp_path, environment(tmp_path, env), timeout, cold=cold)

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
