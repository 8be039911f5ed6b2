"""Artifacts on real files: trusted by content, evicted by age of use."""

import os
from pathlib import Path

import pytest

from bertxfer.store.artifacts import Artifacts


def write(artifacts: Artifacts, name: str, size: int, used: float) -> Path:
    path = artifacts.write("encoders", name, lambda made: made.write_bytes(name.encode() * size))
    os.utime(path.with_name("used"), (used, used))
    return path


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, max_gb=3500e-9)
    for used, name in enumerate("abc"):
        write(artifacts, name, 1000, used)
    assert artifacts.read("encoders", "a")  # used just now
    artifacts.write("encoders", "d", lambda made: made.write_bytes(b"d" * 1000))
    assert [name for name in "abcd" if artifacts.has("encoders", name)] == ["a", "c", "d"]


def test_one_that_is_larger_than_the_limit_is_kept_until_the_next(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, max_gb=100e-9)
    write(artifacts, "a", 1000, 0)
    assert artifacts.has("encoders", "a")
    write(artifacts, "b", 1000, 1)
    assert [name for name in "ab" if artifacts.has("encoders", name)] == ["b"]


def test_without_a_limit_all_stay(tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path, max_gb=None)
    for name in "abc":
        write(artifacts, name, 1000, 0)
    assert all(artifacts.has("encoders", name) for name in "abc")


@pytest.mark.parametrize("damage", [lambda c: c[:-1], lambda c: b"A" + c[1:], lambda c: b""])
def test_damage_is_named_and_removed(tmp_path: Path, capfd: pytest.CaptureFixture[str], damage: object) -> None:
    path = write(Artifacts(tmp_path, None), "a", 1000, 0)
    path.write_bytes(damage(path.read_bytes()))  # type: ignore[operator]
    fresh = Artifacts(tmp_path, None)
    assert fresh.has("encoders", "a")
    assert fresh.read("encoders", "a") == []
    assert str(path) in capfd.readouterr().err
    assert not fresh.has("encoders", "a")
