"""The command line as a user types it: what its tests share."""

import os
import re
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
    return ["model=mini", f"model.name={tiny_model}", "data.n=24", "training.epochs=2", "runtime.device=cpu", *words]


def split_imports(stderr: str) -> tuple[set[str], str]:
    """Top-level modules that PYTHONPROFILEIMPORTTIME reports, and what else was printed."""
    imports, said = set(), []
    for line in stderr.splitlines():
        if match := re.match(r"import time:.*\|\s*(\S+)$", line):
            imports.add(match[1].split(".")[0])
        elif not line.startswith("import time:"):
            said.append(line)
    return imports, "\n".join(said)
