"""Folders whose listings are seconds old, as a network file system gives them: a listing is kept for a while.

As there, a process sees at once what it has made or removed itself.
"""

import os
import sys
import time
from collections.abc import Iterator
from typing import Any

_BELOW, _SECONDS = os.environ["BERTXFER_FAULTS_LISTED"], float(os.environ["BERTXFER_FAULTS_LISTED_FOR"])
_CHANGES = {"open", "os.rename", "os.link", "os.symlink", "os.remove", "os.mkdir", "os.rmdir"}
_kept: dict[str, tuple[float, list[Any]]] = {}  # folder: when it was listed, and what was there
_listdir, _scandir = os.listdir, os.scandir


class _Entries:
    """What os.scandir gives."""

    def __init__(self, entries: list[Any]) -> None:
        self._entries = iter(entries)

    def __iter__(self) -> Iterator[Any]:
        return self._entries

    def __next__(self) -> Any:
        return next(self._entries)

    def __enter__(self) -> "_Entries":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def close(self) -> None:
        pass


def _listed(folder: str) -> list[Any]:
    now = time.monotonic()
    when, entries = _kept.get(folder, (0.0, []))
    if not when or now - when > _SECONDS:
        with _scandir(folder) as found:
            entries = list(found)
        _kept[folder] = (now, entries)
    return entries


def _is_slow(path: Any) -> bool:
    return not isinstance(path, (int, bytes)) and os.fspath(path).startswith(_BELOW)


def _slow_listdir(path: Any = ".") -> list[Any]:
    return [entry.name for entry in _listed(os.fspath(path))] if _is_slow(path) else _listdir(path)


def _slow_scandir(path: Any = ".") -> Any:
    return _Entries(_listed(os.fspath(path))) if _is_slow(path) else _scandir(path)


def _notice(event: str, arguments: tuple[Any, ...]) -> None:
    """Forgets the folders that this process is about to change."""
    if event not in _CHANGES or (event == "open" and not (arguments[2] or 0) & os.O_CREAT):
        return
    for path in arguments[:2]:
        if isinstance(path, (str, os.PathLike)):
            _kept.pop(os.path.dirname(os.fspath(path)), None)  # noqa: PTH120  a Path would be made for every open


sys.addaudithook(_notice)
os.listdir, os.scandir = _slow_listdir, _slow_scandir  # type: ignore[assignment]
