"""What a result was made with: versions, device, and the revision of the code."""

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
    """The `environment` of a result."""
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
        "cpu_instructions": torch.backends.cpu.get_cpu_capability(),  # others round the last bits differently
        "machine": platform.machine(),
        "system": platform.platform(),
        "host": platform.node(),
    }


def peak_memory_mb() -> float:
    """The most memory that this process has had so far; a worker's earlier trials count too."""
    in_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(in_kb / (1024**2 if sys.platform == "darwin" else 1024), 1)


# Every package that a number passes through, from the rows of a data set to a metric of the predictions.
PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "datasets", "numpy", "scipy", "scikit-learn")


@lru_cache
def _versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


@lru_cache
def revision() -> tuple[str | None, bool | None]:
    """The commit that the code runs from, and whether it was changed; None and None outside a checkout."""
    if not (PACKAGE.parent / ".git").exists():
        return None, None
    try:
        commit = _git("rev-parse", "HEAD").strip()
        dirty = bool(_git("status", "--porcelain", "--", "bertxfer", "hydra_plugins").strip())
    except (OSError, subprocess.SubprocessError):
        return None, None
    return commit, dirty


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(PACKAGE.parent), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout
