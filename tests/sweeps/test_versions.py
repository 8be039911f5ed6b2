"""Versions that meet in one store: each compares before it touches anything, and none fails another's trials."""

import json
import shutil
from pathlib import Path

import pytest

from bertxfer.sweeps import manifest
from bertxfer.sweeps.launch import new_launch
from bertxfer.system.formats import FORMAT
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.frozen import frozen

FIXTURES = Path(__file__).parents[1] / "store" / "fixtures"


def taken(out: Path) -> list[Path]:
    return list((out / "trials").glob("*/attempts/*.json"))


def test_a_worker_takes_nothing_of_another_semantics(bertxfer: Run, tmp_path: Path) -> None:
    """As when jobs are pending while the checkout moves on."""
    out = tmp_path / "out"
    shutil.copytree(FIXTURES / "store-v3", out)
    for result in out.glob("trials/*/result.json"):
        result.unlink()
    before = taken(out)
    (sweep,) = (path.name for path in (out / "sweeps").iterdir())
    ended = bertxfer("worker", sweep)
    assert ended.returncode == 1
    assert "was launched under semantics 3, and this checkout computes" in only_line(ended.stderr)
    assert taken(out) == before and not list(out.glob("trials/*/failure.json"))


@pytest.mark.parametrize("what", ["format", "semantics"])
def test_a_newer_sweep_asks_for_an_update(what: str, bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    other = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=2)
    path = sweep.folder / "manifest.json"
    content = json.loads(path.read_text())
    if what == "format":
        content |= {"format": FORMAT + 1, "runtime": {**content["runtime"], "unheard_of": 1}}
    else:
        content["trials"][0]["science"] |= {"semantics": 99, "unheard_of": {}}
    path.write_text(json.dumps({**content, "digest": manifest._digest(content)}))
    for verb in ("worker", "status", "cancel"):
        ended = bertxfer(verb, sweep.name)
        assert ended.returncode == 1
        assert "is of a newer version" in only_line(ended.stderr) and "update this checkout" in ended.stderr
    shown = bertxfer("status")
    assert shown.returncode == 0 and other.name in shown.stdout and "update this checkout" in shown.stdout
    assert not taken(tmp_path / "out")


def test_a_newer_manifest_is_not_written_over(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), "training.epochs=1", "-m", "seed=0", "hydra/launcher=inline"]
    assert bertxfer(*words).returncode == 0
    (path,) = (tmp_path / "out" / "sweeps").glob("*/manifest.json")
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": FORMAT + 1}))
    newer = path.read_bytes()
    ended = bertxfer(*words)
    assert ended.returncode == 1 and "update this checkout" in only_line(ended.stderr)
    assert path.read_bytes() == newer


def test_a_newer_launch_is_not_joined(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    path = sweep.folder / "launches" / f"{new_launch(sweep, 'local')}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": FORMAT + 1}))
    ended = bertxfer("worker", sweep.name)
    assert ended.returncode == 1 and "is of a newer version" in only_line(ended.stderr)
    assert not taken(tmp_path / "out")


def test_all_that_versions_leave_for_each_other_has_a_format(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model), "training.epochs=1", "-m", "seed=0"]
    assert bertxfer(*words).returncode == 0
    for pattern in ("sweeps/*/manifest.json", "sweeps/*/launches/*.json", "trials/*/attempts/*.json"):
        (path,) = (tmp_path / "out").glob(pattern)
        assert json.loads(path.read_text())["format"] == FORMAT
