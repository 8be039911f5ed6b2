"""The command line as a user types it: what its tests share."""

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

Run = Callable[..., subprocess.CompletedProcess[str]]


def environment(tmp_path: Path, more: dict[str, str] | None = None) -> dict[str, str]:
    return {
        **os.environ,
        "BERTXFER_OUTPUT": str(tmp_path / "out"),
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "200",
        **(more or {}),
    }


def only_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, text
    return lines[0]


def tiny_words(tiny_model: Path, *words: str) -> Sequence[str]:
    return [f"model.name={tiny_model}", "data.n=24", "training.epochs=2", "runtime.device=cpu", *words]
