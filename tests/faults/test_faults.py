"""The short form of the faults: always the same ones, of all kinds, on a disk and on a network file system."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

SEED = 7


def test_nothing_is_lost_under_faults(tmp_path: Path) -> None:
    # How many faults strike before a sweep is over depends on the machine, so a quick one gets a longer sweep.
    struck: set[str] = set()
    for size in (3, 6, 12):
        log = disturbed(size, tmp_path / f"log-{size}.json")
        assert log["problems"] == []
        assert all(one["trials"] == one["expected"] and not one["repeated"] for one in log["rounds"])
        if os.getuid() == 0:
            assert log["left_out"] == []
        if os.getuid() == 0 and Path("/dev/fuse").exists():
            assert log["no_network"] is None
        struck = {kind for one in log["rounds"] for _, kind, _ in one["injected"]}
        if len(struck) >= len(log["kinds"]) // 2:
            return
    raise AssertionError(f"the sweep ended before much had happened to it: {struck}")


def disturbed(size: int, log: Path) -> dict[str, Any]:
    """What came of a sweep of that size."""
    command = [sys.executable, "-m", "tests.faults", f"--size={size}", f"--seed={SEED}", f"--log={log}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    print(ended.stdout)
    content: dict[str, Any] = json.loads(log.read_text())
    return content
