"""What is remembered about files: asked again when a file changes, and only then."""

import os
import time
from pathlib import Path

import pytest

from bertxfer.system import cache


@pytest.fixture(autouse=True)
def _own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTXFER_CACHE", str(tmp_path / "cache"))


def asked(path: Path, settings: object = None) -> tuple[str, bool]:
    """What is known about the file, and whether it was read for that."""
    was_read = []

    def learn() -> str:
        was_read.append(path)
        return path.read_text()

    return cache.remembered("kind", settings, cache.stamps([path]), learn), bool(was_read)


def forget_in_memory() -> None:
    cache._REMEMBERED.clear()


def settled(path: Path, text: str) -> None:
    path.write_text(text)
    time.sleep(cache._SETTLED_SECONDS + 0.1)


def test_it_outlives_the_process_and_follows_the_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    settled(path, "one")
    assert asked(path) == ("one", True) and asked(path) == ("one", False)
    forget_in_memory()
    assert asked(path) == ("one", False) and asked(path, "other settings") == ("one", True)
    seen = path.stat()
    path.write_text("two")  # as long as before, and with its old time of change
    os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns))
    assert asked(path) == ("two", True)


def test_a_file_that_may_still_change_unseen_is_not_remembered_for_others(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("one")
    assert asked(path) == ("one", True)
    forget_in_memory()
    assert asked(path) == ("one", True)


def test_a_cache_that_cannot_be_written_or_is_damaged_costs_only_time(tmp_path: Path) -> None:
    path = tmp_path / "file"
    settled(path, "one")
    (tmp_path / "cache").write_text("not a folder")
    assert asked(path) == ("one", True)
    (tmp_path / "cache").unlink()
    forget_in_memory()
    assert asked(path) == ("one", True)
    for entry in (tmp_path / "cache").rglob("*.json"):
        entry.write_text('{"ki')
    forget_in_memory()
    assert asked(path) == ("one", True)


def test_it_lies_beside_the_hubs_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.delenv("BERTXFER_CACHE")
    assert str(cache.hub_home()) == constants.HF_HOME
    monkeypatch.setenv("HF_HOME", str(tmp_path / "scratch"))
    assert cache.folder() == tmp_path / "scratch" / "bertxfer"
