"""A small disk of its own for the output folder, which can be filled and made read-only under running workers."""

import os
import shutil
import subprocess
import time
from pathlib import Path

SIZE = 64 << 20


class Disk:
    """A tmpfs on `folder` where this process may mount one, else the plain folder, which can do neither."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.filler = folder, folder / "filler"
        # Where workers write results and what they share. Their logs stay open and would keep a whole disk busy.
        self.parts = [folder / "out" / name for name in ("trials", "artifacts")]
        folder.mkdir(parents=True, exist_ok=True)
        self.mounted = _ran("mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder))
        for part in self.parts:
            part.mkdir(parents=True)
            if self.mounted:
                assert _ran("mount", "--bind", str(part), str(part))

    def fill(self) -> None:
        with self.filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    continue

    def free(self) -> None:
        self.filler.unlink(missing_ok=True)

    def protect(self) -> bool:
        """Read-only from now on. A file that is being written holds that up for a moment."""
        for part in self.parts:
            deadline = time.monotonic() + 2
            while not _ran("mount", "-o", "remount,bind,ro", str(part)):
                if time.monotonic() > deadline:
                    self.unprotect()
                    return False
        return True

    def unprotect(self) -> None:
        for part in self.parts:
            assert _ran("mount", "-o", "remount,bind,rw", str(part))

    def remove(self) -> None:
        for mounted in [*self.parts, self.folder] if self.mounted else []:
            _ran("umount", "-l", str(mounted))
        shutil.rmtree(self.folder, ignore_errors=True)


def enclosed(command: list[str]) -> list[str]:
    """The command in namespaces of its own: its mounts and processes end with it, even if it is killed.

    Bash is process 1 there, and reaps what workers leave.
    """
    rights = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
    kept = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--uts"]
    return ["unshare", *rights, *kept, "bash", "-c", '"$@"; exit $?', "_", *command]


def can_enclose() -> bool:
    return _ran(*enclosed(["true"]))


def _ran(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
