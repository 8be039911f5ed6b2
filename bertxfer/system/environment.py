"""With what a result was made: versions, device, and the revision of the code."""

import platform
import resource
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from bertxfer import __version__
from bertxfer.system.package import PACKAGE

if TYPE_CHECKING:
    import torch


def describe(device: "torch.device") -> dict[str, Any]:
    import torch

    git_revision, dirty = revision()
    return {
        "bertxfer": __version__,
        "git_revision": git_revision,
        "git_dirty": dirty,
        **_versions(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "cuda": torch.version.cuda if device.type == "cuda" else None,
        "threads": torch.get_num_threads(),
        "cpu_instructions": torch.backends.cpu.get_cpu_capability(),  # other ones round other last bits
        "machine": platform.machine(),
        "system": platform.platform(),
        "host": platform.node(),
    }


def peak_memory_mb() -> float:
    """The most that this process had in memory so far. A worker's earlier trials count, too."""
    in_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(in_kb / (1024**2 if sys.platform == "darwin" else 1024), 1)


# All that a number goes through, from the rows of a data set to a metric of the predictions.
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "datasets", "numpy", "scipy", "scikit-learn")


@lru_cache
def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


@lru_cache
def revision() -> tuple[str | None, bool | None]:
    """The checkout that the code runs from, and whether it was changed; nothing outside a checkout."""
    if not (PACKAGE.parent / ".git").exists():
        return None, None
    try:
        found = _ask("rev-parse", "HEAD").strip()
        dirty = bool(_ask("status", "--porcelain", "--", "bertxfer", "hydra_plugins").strip())
    except (OSError, subprocess.SubprocessError):
        return None, None
    return found, dirty


def _ask(*words: str) -> str:
    command = ["git", "-C", str(PACKAGE.parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
