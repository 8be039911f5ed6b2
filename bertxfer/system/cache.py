"""What this machine has learned about files and brought from the hub: safe to delete, and found or made again."""

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from bertxfer.system.files import write_json

VARIABLE = "BERTXFER_CACHE"
# A file that changed this recently could change again without another time of change: file systems count in ticks.
_SETTLED_SECONDS = 2.0

Stamp = tuple[str, int, int, int, int]


def folder() -> Path:
    """Beside the hub's own cache, which people on a cluster have already put where every node sees it."""
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser().absolute()
    return hub_home() / "bertxfer"


def hub_home() -> Path:
    """Where the Hugging Face libraries keep what they have downloaded; as they find it, without importing them."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    return Path(os.environ.get("HF_HOME") or caches / "huggingface").expanduser().absolute()


def stamps(paths: Iterable[Path]) -> tuple[Stamp, ...]:
    """What tells that files are still what they were, without reading them: size, times and inode."""
    found = []
    for path in sorted(paths):
        seen = path.stat()
        found.append((str(path.resolve()), seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns, seen.st_ino))
    return tuple(found)


def remembered(kind: str, settings: Any, seen: tuple[Stamp, ...], learn: Callable[[], str]) -> str:
    """What `learn` says about files, asked again only when one of their stamps or the settings are other ones."""
    key = hashlib.sha256(json.dumps([kind, settings, seen]).encode()).hexdigest()[:32]
    path = folder() / "seen" / kind / f"{key}.json"
    known = _known(str(path))
    if known is None:
        known = learn()
        if all(time.time() - max(changed, created) / 1e9 > _SETTLED_SECONDS for _, _, changed, created, _ in seen):
            with contextlib.suppress(OSError):  # a home that may only be read
                path.parent.mkdir(parents=True, exist_ok=True)
                write_json(path, {kind: known})
        _REMEMBERED[str(path)] = known
    return known


_REMEMBERED: dict[str, str] = {}


def _known(path: str) -> str | None:
    if path not in _REMEMBERED:
        try:
            (_REMEMBERED[path],) = json.loads(Path(path).read_bytes()).values()
        except (OSError, ValueError, AttributeError):
            return None
    return _REMEMBERED[path]
