"""The short form of the faults: one of each kind, always the same ones, on one small sweep."""

import json
import subprocess
import sys
from pathlib import Path

SEED = 7


def test_nothing_is_lost_under_faults(tmp_path: Path) -> None:
    # Three times the sweep: one of size 1 can be over on a quick machine before ten faults have struck.
    how = ("--size=3", f"--seed={SEED}", f"--log={tmp_path / 'log.json'}")
    command = [sys.executable, "-m", "tests.faults", *how]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    print(ended.stdout)
    log = json.loads((tmp_path / "log.json").read_text())
    assert log["problems"] == []
    (one,) = log["rounds"]
    assert one["trials"] == log["trials"]
    assert len(one["injected"]) >= 10, "the sweep ended before much had happened to it"
