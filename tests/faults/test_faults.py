"""The short form of the faults: one of each kind, always the same ones, on one small sweep."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SEED = 7


def test_nothing_is_lost_under_faults(tmp_path: Path) -> None:
    # How many faults strike before a sweep is over depends on the machine, so a quick one gets a longer sweep.
    injected = 0
    for size in (3, 6, 12):
        log = disturbed(size, tmp_path / f"log-{size}.json")
        assert log["problems"] == []
        (one,) = log["rounds"]
        assert one["trials"] == log["trials"]
        injected = len(one["injected"])
        if injected >= 10:
            break
    assert injected >= 10, "the sweep ended before much had happened to it"


def disturbed(size: int, log: Path) -> dict[str, Any]:
    """What came of a sweep of that size."""
    command = [sys.executable, "-m", "tests.faults", f"--size={size}", f"--seed={SEED}", f"--log={log}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    print(ended.stdout)
    content: dict[str, Any] = json.loads(log.read_text())
    return content
