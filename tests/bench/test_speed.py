"""The benchmark at its smallest: every way runs, all do the same trial, and the page says what was found."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]


def test_every_way_does_the_same_trial(tmp_path: Path) -> None:
    found = tmp_path / "found" / "speed-mini-short.json"
    found.parent.mkdir()
    sizes = ["--model", "mini-short", "--rounds", "1", "--trials", "1", "--sweep", "2", "--json", str(found)]
    run("bench/speed.py", *sizes)
    told = json.loads(found.read_text())
    assert (
        told["check"]["score_papers_way"] == pytest.approx(told["check"]["score_here"])
        and told["check"]["score_here"] > 0.9
    )
    for way in ("a", "b", "c", "c2", "d"):
        assert told[way]["trials"] >= 1 and 0.4 < told[way]["mean_score"] <= 1
        assert 300 < told[way]["peak_memory_mb"] < 2000
        assert told[way]["ratio"] == pytest.approx(mean(told[way]["seconds"]) / mean(told["d"]["seconds"]))
    assert told["d"]["trials"] == 2

    (tmp_path / "docs").mkdir()
    run("bench/page.py", str(found.parent), str(tmp_path))
    page = (tmp_path / "docs" / "benchmark.md").read_text()
    assert f"{told['b']['ratio']:.2f} times as many" in page and "data.n=100 training.epochs=2" in page
    assert json.loads((tmp_path / "bench.json").read_text())["speed-mini-short"] == told


def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTXFER_DATA", str(tmp_path / "nowhere"))
    ended = subprocess.run([sys.executable, "bench/speed.py"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1 and "nowhere" in ended.stderr and "Traceback" not in ended.stderr


def run(*command: str) -> None:
    ended = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
