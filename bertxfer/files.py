"""Writing that a crash cannot leave half done: to a temporary name, synced, then renamed."""

import contextlib
import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: Path, write: Callable[[Path], object], name: Callable[[Path], str] | None = None) -> Path:
    """`write` fills a temporary file beside `path`, which then takes its place in one step.

    `name` may choose another last name when the content is known; the path it got is returned.
    """
    handle, made = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(made)
    try:
        write(temporary)
        _sync(temporary)
        temporary.chmod(0o666 & ~_umask())  # mkstemp's 0600 would hide results from the rest of a group
        if name is not None:
            path = path.with_name(name(temporary))
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)
    return path


def write_text(path: Path, text: str) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"))


def write_json(path: Path, value: Any) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # some network file systems cannot sync a directory
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
