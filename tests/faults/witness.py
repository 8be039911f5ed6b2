"""What stands beside a sweep and must not come to harm."""

import json
import subprocess
from pathlib import Path
from typing import Protocol


class Witness(Protocol):
    def harm(self) -> list[str]:
        """What was done to it, at any time until now."""


class Bystander:
    """A process that is no worker's."""

    def __init__(self) -> None:
        # Without the mark of a scene, or it would count as one that the sweep has left.
        self.process = subprocess.Popen(["sleep", "100000"], env={})

    def harm(self) -> list[str]:
        status = self.process.poll()
        return [] if status is None else [f"a bystander was ended by signal {-status}"]


class Relaunched:
    """The command right after a cancel, which must not take that cancel for its own."""

    def __init__(self, launcher: "subprocess.Popen[bytes]", log: Path) -> None:
        self.launcher, self.log = launcher, log
        self.cancelled_again = False

    def harm(self) -> list[str]:
        refused = self.launcher.poll() is not None and "was cancelled" in self.log.read_text()
        return [f"cancelled before it began: {self.log}"] if refused and not self.cancelled_again else []


class OtherVersion:
    """A manifest that a worker of another version was shown."""

    def __init__(self, manifest: Path, host: str) -> None:
        self.manifest, self.host = manifest, host
        self.semantics = _semantics(manifest)

    def harm(self) -> list[str]:
        changed = _semantics(self.manifest) != self.semantics
        harm = [f"{self.manifest} is of another version"] if changed else []
        for path in self.manifest.parents[2].glob("trials/*/attempts/[!.]*.json"):
            if self.host in path.read_text(errors="replace"):
                harm.append(f"a worker of another version took {path.parts[-3]}")
        return harm


def _semantics(manifest: Path) -> set[int]:
    """None where it is damaged, as it may be in the midst of a round."""
    try:
        return {trial["science"]["semantics"] for trial in json.loads(manifest.read_bytes())["trials"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()
