"""A network file system: one folder that two machines see, each through caches of its own.

No NFS server runs in a sandbox, but FUSE does: bindfs passes a folder through, and the kernel keeps for each mount what
it was told about names and attributes. What one mount has changed, the other sees late, as NFS clients do: here the
caches are as long as those of a busy cluster, but for the attributes, off whose times workers read who lives.
Listings are not cached by it (the slow listings among the faults are for that), nor are locks passed on.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

NEGATIVE, ENTRY, ATTRIBUTES = 10, 10, 1  # for how many seconds a name is missing, there, and as it was


class Network:
    """`server` as this machine sees it at `here`, and as another one does, at the same place in its own namespace."""

    def __init__(self, server: Path, here: Path) -> None:
        self.server, self.here, self.there = server, here, here.with_name(f"{here.name}-there")
        self._daemons: list[subprocess.Popen[bytes]] = []
        for folder in (server / "out" / "trials", server / "out" / "artifacts", self.here, self.there):
            folder.mkdir(parents=True)
        for mount in (self.here, self.there):
            timeouts = f"negative_timeout={NEGATIVE},entry_timeout={ENTRY},attr_timeout={ATTRIBUTES}"
            command = ["bindfs", "-f", "-o", timeouts, str(server), str(mount)]
            self._daemons.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        if not all(_comes(mount, daemon) for mount, daemon in zip((self.here, self.there), self._daemons, strict=True)):
            self.remove()
            raise OSError("bindfs does not mount")

    def seen_from_there(self, command: list[str]) -> list[str]:
        """The command on the other machine, which has the folder where this one has it."""
        script = 'mount --bind "$1" "$2" && shift 2 && exec "$@"'
        return ["unshare", "--mount", "bash", "-c", script, "_", str(self.there), str(self.here), *command]

    def remove(self) -> None:
        for mount in (self.here, self.there):
            subprocess.run(["umount", "-l", str(mount)], capture_output=True, check=False)
        for daemon in self._daemons:
            daemon.terminate()
            daemon.wait()
        for folder in (self.here, self.there):
            folder.rmdir()
        shutil.rmtree(self.server, ignore_errors=True)


def hindrance() -> str | None:
    """Why there can be no network file system here; None where there can. A missing file is looked for twice."""
    if shutil.which("bindfs") is None:
        return "bindfs is not installed"
    with tempfile.TemporaryDirectory(prefix="bertxfer-network-") as folder:
        try:
            network = Network(Path(folder) / "server", Path(folder) / "here")
        except OSError as error:
            return str(error)
        try:
            (network.there / "file").exists()
            (network.here / "file").touch()
            late = not (network.there / "file").exists()
        finally:
            network.remove()
    return None if late else "bindfs does not cache"


def _comes(mount: Path, daemon: "subprocess.Popen[bytes]") -> bool:
    deadline = time.monotonic() + 5
    while daemon.poll() is None and time.monotonic() < deadline:
        if os.path.ismount(mount):
            return True
        time.sleep(0.02)
    return False
