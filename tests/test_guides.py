"""The guides of docs/architecture.md: their code is put into a copy of the package, and trials are run with it."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bertxfer.system.package import PACKAGE
from tests.helpers.guides import guided_files

ROOT = PACKAGE.parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package and its configs, with the guides' files in their places."""
    folder = tmp_path_factory.mktemp("guided")
    for name in ("bertxfer", "conf", "hydra_plugins"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path, text in guided_files().items():
        assert not (folder / path).exists(), f"{path} is there already: the guide adds nothing"
        (folder / path).write_text(text, encoding="utf-8")
    return folder


def run(copy: Path, *words: str) -> subprocess.CompletedProcess[str]:
    around = {**os.environ, "PYTHONPATH": str(copy), "BERTXFER_OUTPUT": str(copy / "out"), "COLUMNS": "200"}
    command = [sys.executable, "-m", "bertxfer", *words]
    return subprocess.run(command, cwd=copy, env=around, capture_output=True, text=True, check=False)


TINY = ("data.n=16", "data.dev_n=32", "training.epochs=1", "runtime.device=cpu")


def test_the_guides_show_a_scheme_and_an_analysis() -> None:
    assert set(guided_files()) == {
        "bertxfer/trials/schemes/outer.py",
        "conf/scheme/outer.yaml",
        "bertxfer/learning/analysis/biases.py",
    }


def test_the_guides_scheme_is_a_scheme_like_any_other(copy: Path) -> None:
    ran = run(copy, "scheme=outer", "outer=2", *TINY)
    assert ran.returncode == 0, ran.stderr
    (result,) = [json.loads(path.read_text()) for path in (copy / "out" / "trials").glob("*/result.json")]
    assert result["treatment_text"] == "layers 1-2,11-12 reinitialized"
    assert "outer: 7 is out of range; on this model it is 0..6" in run(copy, "scheme=outer", "outer=7").stderr
    assert "outer: is an axis of scheme=outer" in run(copy, "outer=1").stderr
    planned = run(copy, "plan", "--json", "-m", "scheme=outer", "outer=0..6", *TINY)
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["distinct"] == 7
    same = [run(copy, "plan", "--json", *words, *TINY) for words in (["scheme=outer", "outer=6"], ["scheme=scratch"])]
    everything = run(copy, "plan", "--json", "scheme=incremental", "k=0", *TINY)
    ids = [json.loads(one.stdout)["trials"][0]["id"] for one in (same[0], everything, same[1])]
    assert ids[0] == ids[1] != ids[2]


def test_the_guides_scheme_is_in_help_and_explained(copy: Path) -> None:
    assert re.search(r"scheme=outer +outer\b", run(copy, "--help").stdout)
    assert "outer" in run(copy, "explain", "outer", "scheme=outer", "outer=1").stdout


def test_the_guides_analysis_leaves_its_rows(copy: Path) -> None:
    schema = copy / "bertxfer" / "config" / "schema.py"
    registered = schema.read_text().replace(
        'outputs("weights", "attention", ', 'outputs("weights", "attention", "biases", '
    )
    assert registered != schema.read_text()
    schema.write_text(registered)
    ran = run(copy, "analysis=biases", *TINY)
    assert ran.returncode == 0, ran.stderr
    (table,) = (copy / "out" / "trials").glob("*/biases.parquet")
    rows = pq.read_table(table).to_pylist()
    assert {row["layer"] for row in rows} == set(range(13)) and all(row["norm"] > 0 for row in rows)
