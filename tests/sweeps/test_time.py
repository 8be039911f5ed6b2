"""Who is alive: judged by the file system's clock, by rules that everybody knows, whatever the clocks here do."""

import errno
import json
import os
import time
from pathlib import Path

import pytest

from bertxfer.store.store import Store
from bertxfer.sweeps.attempt import Rules
from bertxfer.sweeps.launch import new_launch, rules_of
from bertxfer.sweeps.queue import HIDDEN, Queue
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.frozen import frozen

RULES = Rules(stale_seconds=5)
TRIAL = "0123456789abcdef"


def foreign(store: Path, silent_for: float = 0.0, **more: object) -> Path:
    """An attempt of a worker on another machine."""
    path = store / "trials" / TRIAL / "attempts" / "1.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "launch": "first", **more}))
    os.utime(path, (time.time() - silent_for,) * 2)
    return path


@pytest.mark.parametrize("step", [600.0, -600.0])
def test_a_clock_that_steps_here_changes_nothing(step: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queue, true_time = Queue(Store(tmp_path), "first", RULES), time.time
    queue.now()
    monkeypatch.setattr(time, "time", lambda: true_time() + step)
    path = foreign(tmp_path)
    os.utime(path, (true_time(),) * 2)
    assert queue.take(TRIAL) is None
    os.utime(path, (true_time() - 6,) * 2)
    held = queue.take(TRIAL)
    assert held is not None, "it is silent by the file system's clock"
    held.end("done")


def test_after_the_file_systems_clock_was_set_the_living_have_time_to_beat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, true_fstat = Queue(Store(tmp_path), "first", Rules(stale_seconds=1)), os.fstat
    queue.now()
    path = foreign(tmp_path)

    def ahead(descriptor: int) -> os.stat_result:
        """A new file lies ten minutes ahead of the older ones."""
        told = true_fstat(descriptor)
        return os.stat_result((*told[:8], told.st_mtime + 600, told[9])) if told.st_nlink == 0 else told

    monkeypatch.setattr("bertxfer.system.clock.os.fstat", ahead)
    monkeypatch.setattr("bertxfer.system.clock._AGE", 0)
    assert queue.situation(TRIAL).state == "running"
    time.sleep(1.1)
    assert path.exists() and queue.situation(TRIAL).state == "waiting", "it has not moved since"


def test_nobody_calls_its_own_attempt_lost(tmp_path: Path) -> None:
    queue = Queue(Store(tmp_path), "first", RULES)
    held = queue.take(TRIAL)
    assert held is not None
    os.utime(held.path, (time.time() - 3600,) * 2)
    assert queue.situation(TRIAL).state == "running"
    held.end("done")


def test_an_attempt_whose_end_could_not_be_written_is_lost_in_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To its own process too: nobody else may be there to take it over."""
    queue = Queue(Store(tmp_path), "first", RULES)
    held = queue.take(TRIAL)
    assert held is not None
    with monkeypatch.context() as full:
        full.setattr("bertxfer.sweeps.attempt.write_json", no_room)
        held.end("failed")
    assert queue.situation(TRIAL).state == "running"
    os.utime(held.path, (time.time() - 6,) * 2)
    assert queue.situation(TRIAL).state == "waiting"


def no_room(*_: object) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_an_attempt_from_the_future_is_judged_by_whether_it_moves(tmp_path: Path) -> None:
    queue = Queue(Store(tmp_path), "first", Rules(stale_seconds=0.4))
    path = foreign(tmp_path)
    for year in (2060, 2061):
        os.utime(path, ((year - 1970) * 365.25 * 86400,) * 2)
        assert queue.situation(TRIAL).state == "running"
        time.sleep(0.3)
    assert queue.situation(TRIAL).state == "running"
    time.sleep(0.3)
    assert queue.situation(TRIAL).state == "waiting"


def test_an_attempt_says_for_how_long_its_owner_may_be_silent(tmp_path: Path) -> None:
    """Two sweeps may share a trial and have other rules."""
    foreign(tmp_path, silent_for=30, stale_seconds=60)
    assert Queue(Store(tmp_path), "second", RULES).situation(TRIAL).state == "running"
    foreign(tmp_path, silent_for=61, stale_seconds=60)
    assert Queue(Store(tmp_path), "second", RULES).situation(TRIAL).state == "waiting"
    foreign(tmp_path, silent_for=30, stale_seconds=1e9)  # forged, so that nobody would ever take it
    assert Queue(Store(tmp_path), "second", RULES).situation(TRIAL).state == "waiting"


def test_a_result_that_another_machine_has_written_may_be_hidden_for_a_while(tmp_path: Path) -> None:
    queue = Queue(Store(tmp_path), "first", RULES)
    path = foreign(tmp_path, outcome="done")
    assert queue.situation(TRIAL).state == "running" and queue.take(TRIAL) is None
    foreign(tmp_path, outcome="done", silent_for=HIDDEN + 1)
    assert queue.situation(TRIAL).state == "waiting", "somebody has moved it away"
    foreign(tmp_path, outcome="done")
    (path.parent.parent / "result.json").write_text("{}")
    assert queue.situation(TRIAL).state == "done"


def test_whoever_joins_a_launch_follows_its_rules(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), "training.epochs=1", seeds=1)
    launch = new_launch(sweep, "local", Rules(stale_seconds=7, max_crashes=2))
    assert rules_of(sweep.folder, launch) == Rules(7, 2)
    joined = bertxfer("worker", sweep.name)
    assert joined.returncode == 0, joined.stderr
    (attempt,) = (tmp_path / "out" / "trials").glob("*/attempts/1.json")
    assert json.loads(attempt.read_text())["stale_seconds"] == 7


@pytest.mark.parametrize("seconds", ["nan", "inf", "0.01", "1e9"])
def test_senseless_patience_is_refused(seconds: str, bertxfer: Run) -> None:
    ended = bertxfer("-m", "seed=0", f"hydra.launcher.stale_seconds={seconds}")
    assert ended.returncode == 2
    assert only_line(ended.stderr).startswith("bertxfer: hydra.launcher.stale_seconds: ")


def test_what_was_made_elsewhere_beside_a_result_may_be_hidden_too(tmp_path: Path) -> None:
    queue = Queue(Store(tmp_path), "first", RULES)
    path = foreign(tmp_path, outcome="done", outputs=["encoder"])
    (path.parent.parent / "result.json").write_text("{}")
    assert queue.situation(TRIAL, ["encoder"]).state == "running"
    assert queue.situation(TRIAL, ["weights"]).state == "waiting", "nobody has made that"
    foreign(tmp_path, outcome="done", outputs=["encoder"], silent_for=HIDDEN + 1)
    assert queue.situation(TRIAL, ["encoder"]).state == "waiting", "it was evicted"


def test_a_worker_stays_while_an_attempt_from_the_future_is_not_judged_yet(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    """Its owner was on another machine, and is dead."""
    words = [*tiny_words(shallow_model), "training.epochs=1"]
    sweep = frozen(tmp_path / "out", *words, seeds=1)
    path = sweep.store.folder(sweep.trials[0].id) / "attempts" / "1.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1}))
    os.utime(path, (time.time() + 1e8,) * 2)
    ended = bertxfer(*words, "-m", "seed=0", "hydra.launcher.stale_seconds=2")
    assert ended.returncode == 0, ended.stderr
    assert sweep.store.finished() == {sweep.trials[0].id}
