"""Locks: they save work that is done twice, and nobody waits for one for ever."""

import errno
import fcntl
import time
from pathlib import Path

import pytest

from bertxfer.system.files import alone


def test_a_lock_that_is_held_is_waited_for_so_long(tmp_path: Path) -> None:
    began = time.monotonic()
    with alone(tmp_path / "lock"), alone(tmp_path / "lock", seconds=0.2):
        assert time.monotonic() - began < 10


def test_a_file_system_without_locks_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    began = time.monotonic()
    with alone(tmp_path / "lock", seconds=60):
        assert time.monotonic() - began < 10
