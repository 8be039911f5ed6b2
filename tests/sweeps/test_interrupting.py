"""Ctrl-C and cancel: what is said is true when it is said, and the same command goes on at once."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertxfer.errors import BertxferError
from bertxfer.sweeps.launch import cancelled, new_launch, write_down
from bertxfer.sweeps.launchers import slurm
from bertxfer.sweeps.launchers.local import Local
from bertxfer.sweeps.queue import Queue
from tests.helpers.commands import Run, environment, tiny_words
from tests.helpers.frozen import frozen
from tests.helpers.sweeping import (
    SLOW,
    Start,
    cards,
    launcher_log,
    outcomes,
    results,
    running,
    start,
    sweep_words,
    wait_until,
)

__all__ = ["start"]  # a fixture

LONG = ("training.epochs=1", "data.n=60000", "runtime.checkpoint_seconds=0.3")


@pytest.mark.parametrize("words", [["-m", "seed=0..3"], ["seed=1"], ["plan", "-m", "experiment=tamkin2020/fig2"]])
def test_ctrl_c_never_shows_a_traceback(words: list[str], shallow_model: Path, tmp_path: Path) -> None:
    """From the first line of ours on, which is some hundredths of a second after the start."""
    mine = words if words[0] == "plan" else [*tiny_words(shallow_model, *LONG), *words]
    command = [sys.executable, "-m", "bertxfer", *mine]
    for delay in (0.15, 0.5, 0.9, 1.5, 2.5):
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment(tmp_path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
        assert "Traceback" not in said, (delay, said)
        assert process.returncode in (0, 1, 130), (delay, process.returncode, said)
        if process.returncode:
            assert "bertxfer: stopped" in said, (delay, said)
    wait_until(lambda: not cards(tmp_path))


def test_ctrl_c_while_slurm_does_not_answer_says_that_jobs_may_go_on(
    shallow_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    write_down(sweep, new_launch(sweep, "slurm"), "slurm", [{"id": "17"}])

    def silent() -> None:
        raise BertxferError("squeue failed: no answer")

    monkeypatch.setattr(slurm, "queued", silent)
    assert not slurm.Slurm().interrupted(sweep, Queue(sweep.store, None)).stopped
    said = capsys.readouterr().out
    assert "squeue failed: no answer; jobs that were submitted go on" in said and "the same command attaches" in said
    monkeypatch.setattr(slurm, "queued", list)
    assert slurm.Slurm().interrupted(sweep, Queue(sweep.store, None)).stopped
    assert "no job of this sweep waits or runs" in capsys.readouterr().out


def test_ctrl_c_cancels_no_launch_of_another_machine(shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    launch = new_launch(sweep, "local")
    write_down(sweep, launch, "local", [{"id": "17", "host": "elsewhere"}])
    assert Local().interrupted(sweep, Queue(sweep.store, None)).stopped
    assert not cancelled(sweep.folder, launch).exists()


def test_what_ctrl_c_says_of_checkpoints_is_true_when_it_is_said(
    start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    launcher = start(*sweep_words(shallow_model, *LONG, "seed=0..3", "hydra.launcher.workers=2"))
    wait_until(lambda: len(list((tmp_path / "out" / "trials").glob("*/checkpoint/[!.]*.pt"))) == 2)
    os.kill(launcher.pid, signal.SIGINT)
    assert launcher.wait(timeout=60) == 1
    assert not cards(tmp_path), "the workers have ended"
    assert list(outcomes(tmp_path).values()) == [["released"], ["released"]]
    saved = {path.parent.parent.name for path in (tmp_path / "out" / "trials").glob("*/checkpoint/[!.]*.pt")}
    assert f"stopped; {len(saved)} of 4 unfinished trials have a checkpoint" in launcher_log(tmp_path)
    assert len(saved) == 2


def test_the_same_command_right_after_cancel_starts_workers_at_once(
    bertxfer: Run, start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    command = sweep_words(shallow_model, *LONG, "seed=0..3", "hydra.launcher.workers=2", "hydra.launcher.wait=false")
    first = bertxfer(*command)
    assert first.returncode == 0 and "workers: 2" in first.stdout
    wait_until(lambda: len(running(tmp_path)) == 2)
    again = bertxfer(*command)
    assert "no worker was started: 2 are at work" in again.stdout
    (sweep,) = (path.name for path in (tmp_path / "out" / "sweeps").iterdir())
    before = {card["worker"]["pid"] for card in cards(tmp_path)}
    assert "2 workers told to stop" in bertxfer("cancel", sweep).stdout
    relaunched = bertxfer(*command)
    assert relaunched.returncode == 0 and "workers: 2" in relaunched.stdout
    wait_until(lambda: len({card["worker"]["pid"] for card in running(tmp_path)} - before) == 2)
    assert len(list((tmp_path / "out" / "sweeps" / sweep / "launches").glob("*.json"))) == 2
    bertxfer("cancel", sweep)
    wait_until(lambda: not cards(tmp_path))


def test_a_stopped_worker_whose_process_was_killed_is_replaced_and_named(
    start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    words = sweep_words(shallow_model, *SLOW, "seed=0..2", "hydra.launcher.workers=1", "hydra.launcher.stale_seconds=2")
    launcher = start(*words)
    wait_until(lambda: running(tmp_path))
    (card,) = running(tmp_path)
    os.kill(card["worker"]["pid"], signal.SIGSTOP)
    os.kill(card["pid"], signal.SIGKILL)
    try:
        assert launcher.wait(timeout=120) == 0, launcher_log(tmp_path)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(card["worker"]["pid"], signal.SIGCONT)
    assert f"worker {card['worker']['pid']} has not been heard of for 2 s" in launcher_log(tmp_path)
    assert len(results(tmp_path)) == 3
    wait_until(lambda: not cards(tmp_path))


def test_a_lost_worker_is_replaced_while_another_lives(start: Start, shallow_model: Path, tmp_path: Path) -> None:
    launcher = start(*sweep_words(shallow_model, *SLOW, "data.n=4000", "seed=0..7", "hydra.launcher.workers=2"))
    wait_until(lambda: len(running(tmp_path)) == 2)
    victim = running(tmp_path)[0]
    for pid in (victim["worker"]["pid"], victim["pid"]):
        os.kill(pid, signal.SIGKILL)
    assert launcher.wait(timeout=240) == 0, launcher_log(tmp_path)
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    assert len(json.loads(launch.read_text())["jobs"]) == 3
    assert len(results(tmp_path)) == 8


def test_workers_that_die_before_their_first_trial_are_asked_why_once(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    """As on a node whose environment is broken."""
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import sys\nif 'bertxfer.sweeps.worker' in sys.orig_argv: sys.exit('a library is missing on this node')\n"
    )
    ended = bertxfer(*sweep_words(shallow_model, "seed=0..3"), "hydra.launcher.workers=2", cold=True,
                     env={"PYTHONPATH": f"{broken}:{os.environ.get('PYTHONPATH', '')}"})  # fmt: skip
    assert ended.returncode == 1
    assert (
        "all workers ended before their first trial: SystemExit: a library is missing on this node; their logs"
        in ended.stderr
    )
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    assert len(json.loads(launch.read_text())["jobs"]) == 2
