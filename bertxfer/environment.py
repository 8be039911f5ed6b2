"""With what a result was made: versions, device, and the revision of the code."""

import platform
import resource
import subprocess
import sys
from functools import lru_cache
from importlib import metadata
from typing import TYPE_CHECKING, Any

from bertxfer import __version__
from bertxfer.config import PACKAGE

if TYPE_CHECKING:
    import torch


def describe(device: "torch.device") -> dict[str, Any]:
    import torch

    git_revision, dirty = revision()
    return {
        "bertxfer": __version__,
        "git_revision": git_revision,
        "git_dirty": dirty,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in ("torch", "transformers", "tokenizers", "numpy")},
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "threads": torch.get_num_threads(),
        "machine": platform.machine(),
        "host": platform.node(),
    }


def peak_memory_mb() -> float:
    """The most that this process had in memory so far. A worker's earlier trials count, too."""
    in_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(in_kb / (1024**2 if sys.platform == "darwin" else 1024), 1)


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
