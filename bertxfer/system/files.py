"""Writing that a crash cannot leave half done, and identifying files by their content."""

import contextlib
import errno
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
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
        sync(temporary)
        temporary.chmod(0o666 & ~umask())  # mkstemp's 0600 would hide results from the rest of a group
        if name is not None:
            path = path.with_name(name(temporary))
        if not (first and _linked(temporary, path)):
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync(path.parent)
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


@contextlib.contextmanager
def alone(lock: Path, seconds: float = PATIENCE) -> Iterator[None]:
    """Holds the lock, for which it waits so long at most. Where the file system has none, or its holder seems to be
    suspended, two processes may do the same work, which harms nothing."""
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(FileLock(lock, timeout=seconds))
        except (NotImplementedError, Timeout):
            pass
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise
        yield


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)


def link_within(root: Path, *parts: str) -> Path | None:
    """The first link on the way from a root to a path below it. Whoever may write there can plant one, so what lies
    behind it is not ours to write to or to delete."""
    path = root
    for part in parts:
        path = path / part
        if path.is_symlink():
            return path
    return None


def refuse_links(root: Path, *parts: str) -> None:
    """Raises if a link is on the way from a root to a path below it."""
    link = link_within(root, *parts)
    if link is not None:
        raise OSError(errno.ELOOP, "it is a link, which is not followed; remove it", str(link))


def mark(path: Path) -> None:
    """Makes an empty file, unless there is something of that name."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))


def read_plain(path: Path, follow: bool = False) -> tuple[bytes, float]:
    """The content of a plain file and when it was last changed; whatever else has that name is an error, a link too
    unless it is to be followed.

    Opening it makes network file systems ask for its time anew.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW))
    try:
        told = os.fstat(descriptor)
        if not stat.S_ISREG(told.st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(), told.st_mtime
    finally:
        os.close(descriptor)


def read_json(path: Path, follow: bool = False) -> Any:
    """What a plain file says. Whoever opened a pipe of that name would wait for ever."""
    return json.loads(read_plain(path, follow)[0])


def touch(path: Path) -> None:
    """Gives a file that is there the present time; a link in its place is touched itself."""
    os.utime(path, follow_symlinks=False)


def remove_from(folder: Path, names: Iterable[str]) -> None:
    """Deletes files of a folder, which must not be a link, even one that was put there just now."""
    try:
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(name, dir_fd=opened)
    finally:
        os.close(opened)


def _linked(temporary: Path, path: Path) -> bool:
    """Gives the file its name unless there is one of that name; false where the file system has no links."""
    try:
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    except OSError:
        return False
    temporary.unlink()
    return True


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk."""
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
