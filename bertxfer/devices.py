"""The one place that chooses the device, and sets it up so that the same trial gives the same numbers."""

import os

import torch

from bertxfer.errors import ConfigError


def choose(wanted: str) -> torch.device:
    """`auto`: CUDA, else MPS, else the CPU. A device asked for by name must be there."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = torch.device(wanted)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise ConfigError(
            "runtime.device",
            f"{wanted} was asked for, but torch sees no CUDA device; auto takes what is there",
        )
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("runtime.device", "mps was asked for, but torch sees none; auto takes what is there")
    return device


def prepare(device: torch.device, threads: int | None, precision: str) -> None:
    """Deterministic kernels where there are any, the number of CPU threads, and float32 as it was asked for."""
    if threads is not None:
        torch.set_num_threads(threads)
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """Where bf16 is asked for, matrix products are done in it; the weights stay float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")
