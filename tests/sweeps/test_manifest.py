"""Manifests: nothing in one that was altered is run."""

import json
from pathlib import Path

import pytest

from bench.loading import sweep_of
from bertxfer.errors import BertxferError
from bertxfer.sweeps import manifest
from bertxfer.sweeps.launch import launches, new_launch, write_down


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("runtime", "threads"), 7),
        (("trials", 0, "outputs"), ["model"]),
        (("points", 0, "axes", "seed"), 5),
        (("points", 0, "trial"), "0123456789abcdef"),
        (("trials", 1, "science", "optimizer", "lr"), 0.1),
    ],
)
def test_an_altered_manifest_is_refused(tmp_path: Path, place: tuple[str | int, ...], value: object) -> None:
    sweep = sweep_of(2, tmp_path)
    path = sweep.folder / "manifest.json"
    content = json.loads(path.read_text())
    part = content
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    path.write_text(json.dumps(content))
    with pytest.raises(BertxferError, match="launch the sweep again"):
        manifest.read(sweep.folder)


def test_a_manifest_of_before_there_was_a_digest_is_read(tmp_path: Path) -> None:
    sweep = sweep_of(2, tmp_path)
    path = sweep.folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["digest"]
    path.write_text(json.dumps(content))
    assert manifest.read(sweep.folder).trials == sweep.trials


@pytest.mark.parametrize("damage", [b"", b'{"kind": "loc', b'{"kind": "local", "jobs": [{}]}', b"[]", b"\xff"])
def test_a_damaged_launch_is_passed_over_and_goes_on(tmp_path: Path, damage: bytes) -> None:
    sweep = sweep_of(1, tmp_path)
    first, second = (new_launch(sweep, "local") for _ in range(2))
    write_down(sweep, second, "local", [{"id": "1"}])
    (sweep.folder / "launches" / f"{first}.json").write_bytes(damage)
    assert [name for name, _ in launches(sweep, "local")] == [second]
    write_down(sweep, first, "local", [{"id": "2"}, {"id": "3"}])
    write_down(sweep, first, "local", [{"id": "3"}])
    assert dict(launches(sweep, "local"))[first]["jobs"] == [{"id": "2"}, {"id": "3"}]
