"""Writing that a crash cannot leave half done, and identifying files by their content."""

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from bertxfer.system.processes import signature

PATIENCE = 600  # seconds that a worker waits for something another one is making


def write_whole(
    path: Path, write: Callable[[Path], object], name: Callable[[Path], str] | None = None, first: bool = False
) -> Path:
    """`write` fills a temporary file beside `path`, which is synced and then takes its place in one step.

    `name` may choose another file name once the content is known; the final path is returned. With `first`, a file
    that is already there is left as it is.
    """
    # Signed, so that others can tell what a killed process has left from what a living one is writing.
    handle, made = tempfile.mkstemp(prefix=f".{path.name}.{signature()}.", suffix=".tmp", dir=path.parent)
    os.close(handle)
    temporary = Path(made)
    try:
        write(temporary)
        _sync(temporary)
        temporary.chmod(0o666 & ~umask())  # mkstemp's 0600 would hide results from the rest of a group
        if name is not None:
            path = path.with_name(name(temporary))
        if not (first and _linked(temporary, path)):
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync(path.parent)
    return path


def write_text(path: Path, text: str, first: bool = False) -> None:
    write_whole(path, lambda temporary: temporary.write_text(text, encoding="utf-8"), first=first)


def write_json(path: Path, value: Any, first: bool = False) -> None:
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n", first)


def digest(path: Path) -> str:
    """A digest of one file's content, in 32 hex digits."""
    content = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            content.update(block)
    return content.hexdigest()[:32]


def version(paths: Iterable[Path], names: Callable[[Path], str] = lambda path: path.name) -> str:
    """A digest of some files' names and content, which is read again only if a size or a time has changed."""
    stamps = tuple((names(path), str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(paths))
    return _version(stamps)


@lru_cache(maxsize=64)
def _version(stamps: tuple[tuple[str, str, int, int], ...]) -> str:
    whole = hashlib.sha256()
    for name, path, _, _ in stamps:
        whole.update(f"{name} {digest(Path(path))}\n".encode())
    return whole.hexdigest()[:16]


@contextlib.contextmanager
def alone(lock: Path) -> Iterator[None]:
    """Holds the lock. Where the file system has none, or its holder seems to be suspended, two workers may do the same
    work, which harms nothing."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(NotImplementedError, Timeout):
            held.enter_context(FileLock(lock, timeout=PATIENCE))
        yield


def _linked(temporary: Path, path: Path) -> bool:
    """Gives the file its name unless there is one of that name; false where the file system has no links."""
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    except OSError:
        return False
    temporary.unlink()
    return True


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        # Some network file systems cannot sync a directory; that a file cannot be synced is an error.
        with contextlib.suppress(OSError) if path.is_dir() else contextlib.nullcontext():
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def umask() -> int:
    """The permissions that the user withholds from new files."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
