"""Outside the repository, from a wheel: conf/, the mini model and the plugins come along."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)], check=True, timeout=300
    )
    (wheel,) = folder.glob("bertxfer-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def run(installed: Path, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-m", "bertxfer", *words], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=300
    )


def test_a_trial_runs_from_a_wheel(installed: Path, tmp_path: Path) -> None:
    where = run(installed, tmp_path, "--info", "searchpath").stdout
    assert str(installed / "bertxfer" / "conf") in where
    ended = run(installed, tmp_path, "data.n=8", "training.epochs=1", "-m", "scheme=baseline,scratch")
    assert ended.returncode == 0, ended.stderr
    assert len(list((tmp_path / "multirun_outputs" / "trials").glob("*/result.json"))) == 2
    assert "2 of 2 trials done" in ended.stdout
    reported = run(installed, tmp_path, "report")
    assert "index.html" in reported.stdout, reported.stderr
