"""What trials share on disk, made once: found by name, trusted by content, bounded in size."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from bertxfer.system.files import alone, digest, write_whole


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
                    path.unlink()
                    continue
                self._trusted.add(identity)
                good.append(path)
                with contextlib.suppress(OSError):  # a folder that may only be read
                    _used(path).touch()  # what was used long ago is evicted first
        return good

    def write(self, kind: str, name: str, write: Callable[[Path], object]) -> Path:
        """Adds a file that `write` fills, and makes room for it."""
        folder = self.root / kind / name
        folder.mkdir(parents=True, exist_ok=True)
        path = write_whole(folder / "new.safetensors", write, lambda made: f"{digest(made)}.safetensors")
        _used(path).touch()
        self._evict(path)
        return path

    def alone(self, kind: str, name: str) -> AbstractContextManager[None]:
        """Held by whoever makes the artifact, so that the others wait for it."""
        folder = self.root / kind / name
        folder.mkdir(parents=True, exist_ok=True)
        return alone(folder / "lock")

    def _files(self, kind: str, name: str) -> Iterator[Path]:
        return (self.root / kind / name).glob("[!.]*.safetensors")

    def _evict(self, newest: Path) -> None:
        if self.max_gb is None:
            return
        files = []
        for path in self.root.glob("*/*/[!.]*.safetensors"):
            with contextlib.suppress(FileNotFoundError):
                files.append((_used(path).stat().st_mtime, path.stat().st_size, path))
        excess = sum(size for _, size, _ in files) - self.max_gb * 1e9
        for _, size, path in sorted(files):
            if excess <= 0:
                return
            if path != newest:
                path.unlink(missing_ok=True)
                excess -= size


def _used(path: Path) -> Path:
    """A file whose time is that of the artifact's last use; the artifact's own time must show its last change."""
    return path.with_name("used")
