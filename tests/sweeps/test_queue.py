"""Claims: one worker a trial, whatever happens to the others."""

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bertxfer.store.store import Store
from bertxfer.sweeps.attempt import Attempt, Rules
from bertxfer.sweeps.queue import Queue

RULES = Rules(stale_seconds=5, max_crashes=2)
TRIAL = "0123456789abcdef"


def queue(tmp_path: Path, launch: str = "first", rules: Rules = RULES) -> Queue:
    return Queue(Store(tmp_path), launch, rules)


def attempt_file(tmp_path: Path, number: int) -> Path:
    return tmp_path / "trials" / TRIAL / "attempts" / f"{number}.json"


def other_owner(tmp_path: Path, number: int = 1, silent_for: float = 0.0, **more: object) -> Path:
    """An attempt of a worker on another machine."""
    path = attempt_file(tmp_path, number)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"host": "elsewhere", "pid": 1, "launch": "first", **more}))
    os.utime(path, (time.time() - silent_for,) * 2)
    return path


def test_a_taken_trial_is_not_taken_again(tmp_path: Path) -> None:
    mine = queue(tmp_path).take(TRIAL)
    assert mine is not None
    assert queue(tmp_path).take(TRIAL) is None
    assert queue(tmp_path).situation(TRIAL).state == "running"
    mine.end("released", steps=5)
    again = queue(tmp_path).take(TRIAL)
    assert again is not None and again.number == 2
    again.end("done")


def test_many_at_once_and_one_wins(tmp_path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        attempts = list(pool.map(lambda _: queue(tmp_path).take(TRIAL), range(64)))
    winners = [held for held in attempts if held is not None]
    assert len(winners) == 1
    winners[0].end("done")


def test_an_attempt_is_kept_alive(tmp_path: Path) -> None:
    held = queue(tmp_path, rules=Rules(stale_seconds=0.6)).take(TRIAL)
    assert held is not None
    time.sleep(1.5)
    assert queue(tmp_path, rules=Rules(stale_seconds=0.6)).situation(TRIAL).state == "running"
    held.end("done")


def test_a_silent_worker_loses_its_trial_and_can_tell(tmp_path: Path) -> None:
    other_owner(tmp_path, silent_for=4)
    assert queue(tmp_path).take(TRIAL) is None
    other_owner(tmp_path, silent_for=6)
    held = queue(tmp_path).take(TRIAL)
    assert held is not None and held.number == 2
    assert not held.superseded()
    other_owner(tmp_path, number=3)
    assert held.superseded()
    held.end("released")


def test_a_dead_process_of_this_machine_is_noticed_at_once(tmp_path: Path) -> None:
    code = (
        "import sys; from bertxfer.sweeps.attempt import Rules; from bertxfer.sweeps.queue import Queue\n"
        "from bertxfer.store.store import Store\n"
        f"Queue(Store(sys.argv[1]), 'first', Rules(1000)).take('{TRIAL}'); import os; os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert attempt_file(tmp_path, 1).exists()
    patient = queue(tmp_path, rules=Rules(stale_seconds=1000))
    assert patient.situation(TRIAL).state == "waiting"


def test_crashes_are_counted_within_a_launch(tmp_path: Path) -> None:
    other_owner(tmp_path, 1, outcome="crashed")
    assert queue(tmp_path).situation(TRIAL).state == "waiting"
    other_owner(tmp_path, 2, silent_for=100)  # lost without a word
    assert queue(tmp_path).situation(TRIAL).state == "failed"
    assert queue(tmp_path, "second").situation(TRIAL).state == "waiting"


def test_a_failed_trial_is_tried_again_only_by_another_launch(tmp_path: Path) -> None:
    other_owner(tmp_path, outcome="failed")
    assert queue(tmp_path).situation(TRIAL).state == "failed"
    assert queue(tmp_path, "second").situation(TRIAL).state == "waiting"


def test_a_time_limit_that_allows_no_step_ends_somewhere_and_preemptions_never_do(tmp_path: Path) -> None:
    for number in range(1, 9):
        other_owner(tmp_path, number, outcome="released", steps=number % 2, time_was_up=number % 2)
        assert queue(tmp_path).situation(TRIAL).state == "waiting"
    for number in (9, 10, 11):
        other_owner(tmp_path, number, outcome="released", steps=0, time_was_up=True)
    assert queue(tmp_path).situation(TRIAL).state == "failed"


def test_a_done_trial_is_never_taken(tmp_path: Path) -> None:
    (tmp_path / "trials" / TRIAL).mkdir(parents=True)
    (tmp_path / "trials" / TRIAL / "result.json").write_text("{}")
    assert queue(tmp_path).take(TRIAL) is None
    assert queue(tmp_path).situation(TRIAL).state == "done"


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b'{"pid": "x"}', b'{"pid": 10000000000}', b'{"\xff'])
def test_a_damaged_attempt_is_judged_by_its_age(tmp_path: Path, content: bytes) -> None:
    path = other_owner(tmp_path)
    path.write_bytes(content)
    assert queue(tmp_path).situation(TRIAL).state == "running"
    os.utime(path, (time.time() - 60,) * 2)
    held = queue(tmp_path).take(TRIAL)
    assert held is not None
    held.end("done")


def test_a_requeued_slurm_job_takes_over_its_own_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other_owner(tmp_path, slurm_job="77_3", slurm_restarts=0)
    assert queue(tmp_path).take(TRIAL) is None
    monkeypatch.setenv("SLURM_ARRAY_JOB_ID", "77")
    monkeypatch.setenv("SLURM_ARRAY_TASK_ID", "3")
    assert queue(tmp_path).take(TRIAL) is None, "another node of the same job is alive"
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    held = queue(tmp_path).take(TRIAL)
    assert held is not None
    held.end("done")
    assert Attempt(1, tmp_path, {}, None, 6.0).is_silent(RULES)


def test_whoever_takes_a_trial_over_closes_what_was_lost(tmp_path: Path) -> None:
    lost, living = other_owner(tmp_path, 1, silent_for=100), tmp_path / "trials" / TRIAL / ".result.json.new.tmp"
    old = living.with_name(".result.json.old.tmp")
    for path, age in ((living, 0), (old, 100)):
        path.write_text("{")
        os.utime(path, (time.time() - age,) * 2)
    held = queue(tmp_path).take(TRIAL)
    assert held is not None
    assert json.loads(lost.read_text())["outcome"] == "lost"
    assert not old.exists() and living.exists(), "one may still be written to"
    held.end("released")
    other_owner(tmp_path, 3, silent_for=100)
    assert queue(tmp_path).situation(TRIAL).state == "failed", "both count as crashes of this launch"


def test_an_attempt_ends_as_it_began_even_if_its_file_was_damaged(tmp_path: Path) -> None:
    held = queue(tmp_path).take(TRIAL)
    assert held is not None
    held.path.write_text('{"launch": "fir')
    held.end("failed")
    assert queue(tmp_path).situation(TRIAL).state == "failed"


def test_an_attempt_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import resource, signal, sys\n"
        "from bertxfer.store.store import Store; from bertxfer.sweeps.queue import Queue\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "try: Queue(Store(sys.argv[1]), 'first').take(sys.argv[2])\n"
        "except OSError: print('no room')"
    )
    told = subprocess.run([sys.executable, "-c", code, str(tmp_path), TRIAL], capture_output=True, text=True)
    assert told.stdout == "no room\n", told.stderr
    assert queue(tmp_path).situation(TRIAL).state == "waiting"
    assert not list((tmp_path / "trials" / TRIAL / "attempts").iterdir())


def test_what_a_worker_left_that_died_just_after_the_result(tmp_path: Path) -> None:
    folder = other_owner(tmp_path, silent_for=100).parent.parent
    for name in ("result.json", "failure.json", "checkpoint/0123.pt", "checkpoint/.state.pt.x.tmp"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("{}")
    queue(tmp_path).tidy(TRIAL)
    assert sorted(path.name for path in folder.iterdir()) == ["attempts", "result.json"]
    assert json.loads(attempt_file(tmp_path, 1).read_text())["outcome"] == "lost"


def test_nothing_is_tidied_while_somebody_runs_the_trial(tmp_path: Path) -> None:
    folder = other_owner(tmp_path).parent.parent
    (folder / "checkpoint").mkdir()
    (folder / "checkpoint" / ".state.pt.x.tmp").write_text("half")
    os.utime(folder / "checkpoint" / ".state.pt.x.tmp", (0, 0))
    queue(tmp_path).tidy(TRIAL)
    assert (folder / "checkpoint" / ".state.pt.x.tmp").exists()
