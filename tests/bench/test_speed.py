"""The benchmark at its smallest: every way runs, all do the same trial, and the page says what was found."""

import json
import subprocess
import sys
from pathlib import Path
from statistics import mean

import pytest

ROOT = Path(__file__).parents[2]


def test_every_way_does_the_same_trial(tmp_path: Path) -> None:
    found = tmp_path / "found" / "speed-smallest.json"
    found.parent.mkdir()
    run("bench/speed.py", "--setup", "smallest", "--rounds", "1", "--json", str(found))
    told = json.loads(found.read_text())
    check, ways = told["check"], told["ways"]
    assert check["score_papers_way"] == pytest.approx(check["score_here"]) and check["score_here"] > 0.6
    assert list(ways) == ["c2", "c", "b", "a", "d"]
    for way in ways.values():
        assert way["trials"] >= 1 and 0.2 < way["mean_score"] <= 1
        assert 300 < way["peak_memory_mb"] < 2000
        assert way["cpu_seconds"] > 1  # every process imports torch
        assert way["ratio"] == pytest.approx(mean(way["seconds"]) / mean(ways["d"]["seconds"]))
    assert {way: ways[way]["evaluations"] for way in "abcd"} == {"a": 1, "b": 1, "c": 1, "d": 1}
    assert ways["c2"]["trials"] == ways["d"]["trials"]

    (tmp_path / "docs").mkdir()
    run("bench/page.py", str(found.parent), str(tmp_path))
    page = (tmp_path / "docs" / "benchmark.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| (")]
    assert [row[2:5] for row in rows] == ["(c)", "(c)", "(b)", "(a)", "(d)"] and "on every core" in rows[0]
    assert f"{ways['b']['ratio']:.2f} times as many" in page
    best = min("c2", "c", "b", "a", key=lambda way: ways[way]["ratio"])
    (summed_up,) = (line for line in page.splitlines() if line.startswith("| `model=mini"))
    assert summed_up.split(" | ")[2] == f"{ways[best]['ratio']:.2f}"
    assert json.loads((tmp_path / "bench.json").read_text())["speed-smallest"] == told


def test_a_round_is_compared_by_its_seconds_of_cpu() -> None:
    small = ["--of", "model=mini", "task=mini_sst2", "k=0,12", "data.dev_n=40", "training.epochs=1"]
    how = ["--before", "runtime.checkpoint_seconds=0", "--after", "runtime.checkpoint_seconds=60"]
    said = run("bench/round.py", *small, *how)
    assert "times fewer seconds of CPU; scores and weights of all 2 trials are the same" in said
    assert said.count("2 trials, ") == 2 and "peak" in said

    other = run("bench/round.py", *small, "--before", "optimizer.lr=1e-5", "--after", "optimizer.lr=1e-4", status=1)
    assert "make other trials" in other


def test_seconds_of_cpu_are_those_of_all_processes_even_of_orphans() -> None:
    burn = "import time\nwhile time.process_time() < 0.6: pass"
    orphan = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {burn!r}])"
    script = (
        "import sys; sys.path.insert(0, 'bench')\n"
        "from spending import printed, printed_at_once, spending\n"
        "with spending() as one: printed([sys.executable, '-c', sys.argv[1]])\n"
        "with spending() as two: printed_at_once([[sys.executable, '-c', sys.argv[1]]] * 2)\n"
        "print(one.cpu, two.cpu)"
    )
    one, two = map(float, run("-c", script, orphan).split())
    assert 0.6 <= one < 1.1 and 1.2 <= two < 2.2


def test_what_is_missing_is_said_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BERTXFER_DATA", str(tmp_path / "nowhere"))
    ended = subprocess.run([sys.executable, "bench/speed.py"], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == 1 and "nowhere" in ended.stderr and "Traceback" not in ended.stderr


def run(*command: str, status: int = 0) -> str:
    """What it printed; where it fails, its errors."""
    ended = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True)
    assert ended.returncode == status, ended.stderr
    return ended.stderr if status else ended.stdout
