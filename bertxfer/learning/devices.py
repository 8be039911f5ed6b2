"""The choice of the device, and its setup so that the same trial gives the same numbers."""

import contextlib
import ctypes
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


def in_use() -> bool:
    """Whether this process computes on a GPU: no fork of it could go on with that."""
    return torch.cuda.is_initialized()


def prepare(device: torch.device, threads: int | None, precision: str) -> None:
    """Deterministic kernels where there are any, the number of CPU threads, and the precision of float32."""
    if device.type == "cpu":
        keep_memory()
    if threads is not None:
        torch.set_num_threads(threads)
    if device.type == "cuda":
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True, warn_only=True)
    # Otherwise every new tensor is filled with NaN before it is written to: 3% of a step.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")


def keep_memory() -> None:
    """Lets the C library keep freed memory for the next step: giving it back and fetching it again page by page took a
    sixth of a step on the CPU. Does nothing where there is no glibc."""
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(None)
        library.mallopt(-3, 32 * 1024**2)  # M_MMAP_THRESHOLD, at its highest
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def give_back() -> None:
    """Returns all free memory to the system after a trial's training: batches of many sizes leave gaps, which would add
    up over trials."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def autocast(device: torch.device, precision: str) -> torch.autocast:
    """With bf16, matrix products are computed in it; the weights stay float32."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=precision == "bf16")
