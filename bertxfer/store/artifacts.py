"""What trials share on disk, made once: found by name, trusted by content, bounded in size."""

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from bertxfer.system.files import alone, digest, link_within, refuse_links, remove_from, write_whole


class Artifacts:
    """`<kind>/<name>/<digest of the content>.safetensors`. None is needed for long: what is gone is made again."""

    def __init__(self, root: Path, max_gb: float | None) -> None:
        self.root, self.max_gb = root, max_gb
        # Files that this process has read whole: their names, sizes and times of change.
        self._trusted: set[tuple[str, int, int]] = set()

    def has(self, kind: str, name: str) -> bool:
        """Whether it is there, without looking into it."""
        return any(self._files(kind, name))

    def read(self, kind: str, name: str) -> list[Path]:
        """The files of an artifact whose content is what their names say; any other is reported and removed."""
        good = []
        for path in self._files(kind, name):
            with contextlib.suppress(FileNotFoundError):  # evicted by another worker just now
                identity = (str(path), path.stat().st_size, path.stat().st_mtime_ns)
                if identity not in self._trusted and digest(path) != path.stem:
                    print(f"damaged, so it is made again: {path}", file=sys.stderr, flush=True)
                    remove_from(path.parent, [path.name])
                    continue
                self._trusted.add(identity)
                good.append(path)
                with contextlib.suppress(OSError):  # a folder that may only be read
                    _mark_used(path)  # what was used long ago is evicted first
        return good

    def write(self, kind: str, name: str, write: Callable[[Path], object]) -> Path:
        """Adds a file that `write` fills, and makes room for it."""
        path = write_whole(
            self._folder(kind, name) / "new.safetensors", write, lambda made: f"{digest(made)}.safetensors"
        )
        _mark_used(path)
        self._evict(path)
        return path

    def alone(self, kind: str, name: str) -> AbstractContextManager[None]:
        """Held by whoever makes the artifact, so that the others wait for it."""
        return alone(self._folder(kind, name) / "lock")

    def _folder(self, kind: str, name: str) -> Path:
        """Where an artifact is written, which is no link."""
        refuse_links(self.root.parent, self.root.name, kind, name)
        folder = self.root / kind / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _files(self, kind: str, name: str) -> Iterator[Path]:
        if link_within(self.root.parent, self.root.name, kind, name) is None:
            with contextlib.suppress(FileNotFoundError):  # listed, and not seen yet: a network file system may do that
                yield from (self.root / kind / name).glob("[!.]*.safetensors")

    def _evict(self, newest: Path) -> None:
        if self.max_gb is None:
            return
        files = []
        names: list[tuple[str, str]] = []
        for folder in self.root.iterdir():
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                names += [(folder.name, artifact.name) for artifact in folder.iterdir()]
        for path in (path for kind, name in names for path in self._files(kind, name)):
            with contextlib.suppress(FileNotFoundError):
                files.append((_used(path).stat().st_mtime, path.stat().st_size, path))
        excess = sum(size for _, size, _ in files) - self.max_gb * 1e9
        for _, size, path in sorted(files):
            if excess <= 0:
                return
            if path != newest:
                remove_from(path.parent, [path.name])
                excess -= size


def _used(path: Path) -> Path:
    """A file whose time is that of the artifact's last use; the artifact's own time must show its last change."""
    return path.with_name("used")


def _mark_used(path: Path) -> None:
    descriptor = os.open(_used(path), os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        os.utime(descriptor)
    finally:
        os.close(descriptor)
