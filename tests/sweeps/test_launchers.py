"""Sweeps on this machine: workers, kills, attaching, cancelling, all with real processes."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from dataclasses import asdict
from pathlib import Path

import pytest
import yaml

from bertxfer.config.schema import conf_dir
from bertxfer.errors import ConfigError
from bertxfer.sweeps.launchers import LAUNCHERS, make
from bertxfer.sweeps.launchers.local import Local, visible_gpus
from bertxfer.sweeps.launchers.slurm import Slurm, chunks
from tests.helpers.commands import Run, tiny_words
from tests.helpers.sweeping import (
    SLOW,
    Start,
    attempts,
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


def test_local_workers_get_what_one_process_gets(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = sweep_words(shallow_model, "seed=0..5")
    ended = bertxfer(*words, "hydra.launcher.workers=2")
    assert ended.returncode == 0, ended.stderr
    assert "6 of 6 trials done" in ended.stdout
    inline = bertxfer(*tiny_words(shallow_model), "runtime.threads=1", "hydra/launcher=inline", "-m", "seed=0..5",
                      env={"BERTXFER_OUTPUT": str(tmp_path / "inline")})  # fmt: skip
    assert inline.returncode == 0, inline.stderr
    for path in results(tmp_path):
        other = tmp_path / "inline" / path.relative_to(tmp_path / "out")
        one, two = json.loads(path.read_text()), json.loads(other.read_text())
        for key in ("score", "metrics", "weights_digest"):
            assert one[key] == two[key]
    assert all(len(tries) == 1 for tries in attempts(tmp_path).values())
    again = bertxfer(*words, env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert again.returncode == 0
    assert "6 trials, 6 done before" in again.stdout
    assert " torch\n" not in again.stderr


def test_the_runtime_is_that_of_the_latest_command(bertxfer: Run, shallow_model: Path) -> None:
    words = [*sweep_words(shallow_model, "seed=0,1"), "hydra/launcher=inline"]
    first = bertxfer(*words, "runtime.device=cuda")
    assert first.returncode == 1
    assert "2 of 2 trials failed" in first.stderr
    second = bertxfer(*words, "runtime.device=cpu")
    assert second.returncode == 0, second.stderr


def test_a_model_that_changed_after_the_freeze_is_refused(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(shallow_model, model)
    words = [*sweep_words(model, "seed=0,1"), "hydra/launcher=inline", "training.clip=null", "optimizer.lr=1e30"]
    assert bertxfer(*words).returncode == 1
    weights = model / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    (sweep,) = [path.name for path in (tmp_path / "out" / "sweeps").iterdir()]
    for attempt in (tmp_path / "out" / "trials").glob("*/attempts/*.json"):
        attempt.unlink()
    joined = bertxfer("worker", sweep)
    assert joined.returncode == 1
    assert "2 failed" in joined.stdout
    for failure in (tmp_path / "out" / "trials").glob("*/failure.json"):
        assert "has changed since this trial was planned" in json.loads(failure.read_text())["reason"]


def test_editing_the_config_changes_nothing_that_was_launched(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    assert bertxfer(*sweep_words(shallow_model, "seed=0,1")).returncode == 0
    (path,) = (tmp_path / "out" / "sweeps").glob("*/manifest.json")
    frozen = json.loads(path.read_text())
    assert {trial["science"]["optimizer"]["lr"] for trial in frozen["trials"]} == {0.0005}
    frozen["trials"][0]["science"]["optimizer"]["lr"] = 0.1
    path.write_text(json.dumps(frozen))
    ended = bertxfer("worker", path.parent.name)
    assert ended.returncode == 1
    assert "hashes to" in ended.stderr


def test_kills_of_workers_and_launcher_lose_and_repeat_nothing(
    bertxfer: Run, start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    words = sweep_words(shallow_model, *SLOW, "seed=0..5", "hydra.launcher.workers=2", "runtime.checkpoint_seconds=0.2")
    launcher = start(*words)
    wait_until(lambda: len(running(tmp_path)) == 2)
    victim = running(tmp_path)[0]
    os.kill(victim["pid"], signal.SIGKILL)  # a trial takes its process down
    wait_until(lambda: len(results(tmp_path)) >= 1)
    launcher.kill()  # and the launcher dies
    launcher.wait()
    ended = bertxfer(*words)
    assert ended.returncode == 0, ended.stderr
    assert len(results(tmp_path)) == 6
    found = outcomes(tmp_path)
    assert found.pop(victim["trial"]) == ["crashed", "done"]
    assert all(ended == ["done"] for ended in found.values()), found


def test_a_trial_that_always_kills_its_process_fails_alone(start: Start, shallow_model: Path, tmp_path: Path) -> None:
    words = sweep_words(shallow_model, *SLOW, "seed=0..2", "hydra.launcher.workers=1", "hydra.launcher.max_crashes=2")
    launcher = start(*words)
    wait_until(lambda: running(tmp_path))
    victim = running(tmp_path)[0]["trial"]
    killed: set[object] = set()
    while launcher.poll() is None:
        for card in running(tmp_path):
            if card["trial"] == victim and card["pid"] not in killed:
                os.kill(card["pid"], signal.SIGKILL)
                killed.add(card["pid"])
        time.sleep(0.02)
    assert launcher.returncode == 1
    assert len(killed) == 2
    said = (tmp_path / "launcher.log").read_text()
    assert "1 of 3 trials failed" in said
    assert f"{victim}: its process was ended by signal 9" in said
    assert len(results(tmp_path)) == 2


def test_the_last_trial_is_not_held_up_by_a_process_that_hangs(
    start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    """The only worker's process is stopped for good: no other worker is there to take its trial over."""
    words = [*tiny_words(shallow_model), *SLOW, "-m", "seed=0", "hydra.launcher.workers=1"]
    launcher = start(*words, "hydra.launcher.stale_seconds=1")
    wait_until(lambda: running(tmp_path))
    (hung,) = running(tmp_path)
    os.kill(hung["pid"], signal.SIGSTOP)
    try:
        assert launcher.wait(timeout=180) == 0, launcher_log(tmp_path)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(hung["pid"], signal.SIGKILL)
    assert outcomes(tmp_path) == {hung["trial"]: ["crashed", "done"]}
    said = "".join(path.read_text() for path in (tmp_path / "out" / "sweeps").glob("*/logs/*.out"))
    assert f"process {hung['pid']} was silent for 10 s: it is killed" in said


def test_two_launchers_at_once_run_each_trial_once(start: Start, shallow_model: Path, tmp_path: Path) -> None:
    words = sweep_words(shallow_model, "seed=0..7", "hydra.launcher.workers=2")
    both = [start(*words) for _ in range(2)]
    assert [launcher.wait(timeout=200) for launcher in both] == [0, 0]
    assert len(results(tmp_path)) == 8
    assert all(len(tries) == 1 for tries in attempts(tmp_path).values())
    (launch,) = (tmp_path / "out" / "sweeps").glob("*/launches/*.json")
    assert len(json.loads(launch.read_text())["jobs"]) == 2


def test_cancel_gives_back_and_the_same_command_goes_on(
    bertxfer: Run, start: Start, shallow_model: Path, tmp_path: Path
) -> None:
    words = sweep_words(shallow_model, "training.epochs=1", "data.n=9000", "seed=0..1", "hydra.launcher.workers=1")
    words = [*words, "runtime.checkpoint_seconds=0.5"]
    assert bertxfer(*words, "hydra.launcher.wait=false").returncode == 0
    wait_until(lambda: running(tmp_path))
    wait_until(lambda: list((tmp_path / "out" / "trials").glob("*/checkpoint/[!.]*.pt")))  # before it there is no step
    waiting = start(*words)
    wait_until(lambda: "0 done" in launcher_log(tmp_path) or "0 of 2 done" in launcher_log(tmp_path))
    (sweep,) = [path.name for path in (tmp_path / "out" / "sweeps").iterdir()]
    bystander = subprocess.Popen(["sleep", "600"])
    assert "1 running" in bertxfer("status", sweep).stdout
    assert "1 workers told to stop" in bertxfer("cancel", sweep).stdout
    wait_until(lambda: not cards(tmp_path))
    assert waiting.wait(timeout=30) == 1
    assert "the sweep was cancelled" in launcher_log(tmp_path)
    assert bystander.poll() is None
    bystander.kill()
    assert results(tmp_path) == []
    assert [a["outcome"] for tries in attempts(tmp_path).values() for a in tries] == ["released"]
    joined = bertxfer("worker", sweep[:8])
    assert joined.returncode == 0, joined.stderr
    assert len(results(tmp_path)) == 2
    resumed = [json.loads(path.read_text())["resumed_at_step"] for path in results(tmp_path)]
    assert sorted(step is None for step in resumed) == [False, True]
    assert "2" in bertxfer("status").stdout


def test_status_of_a_sweep_and_of_a_trial(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    assert "no sweeps" in bertxfer("status").stdout
    assert bertxfer(*sweep_words(shallow_model, "training.clip=null", "optimizer.lr=1e30,1e-4")).returncode == 1
    (sweep,) = [path.name for path in (tmp_path / "out" / "sweeps").iterdir()]
    table = bertxfer("status", sweep).stdout
    assert "1 of 2 done, 0 running, 1 failed, 0 waiting" in table
    assert "the training loss is" in table
    trial = bertxfer("status", results(tmp_path)[0].parent.name).stdout
    assert "as pretrained" in trial and "accuracy" in trial
    nothing = bertxfer("status", "nonsense")
    assert nothing.returncode == 1
    assert "'nonsense' is not a sweep; there are: sweep-" in nothing.stderr


def test_another_sweeper_gets_scores_back(bertxfer: Run, shallow_model: Path) -> None:
    ended = bertxfer(*tiny_words(shallow_model), "hydra/sweeper=basic", "hydra/launcher=inline", "-m", "seed=0,1")
    assert ended.returncode == 0, ended.stderr
    assert "2 of 2 trials done" in ended.stdout


@pytest.mark.parametrize(
    ("visible", "settings", "places"),
    [
        ("0,1", {}, ["0", "1"]),
        ("0,1", {"per_gpu": 2}, ["0", "1", "0", "1"]),
        ("3", {"workers": 2}, ["3", "3"]),
        ("", {"workers": 3}, [None, None, None]),
        ("GPU-abc,GPU-def", {}, ["GPU-abc", "GPU-def"]),
    ],
)
def test_every_gpu_gets_its_workers(
    monkeypatch: pytest.MonkeyPatch, visible: str, settings: dict[str, int], places: list[str | None]
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert Local(**settings).devices() == places
    assert Local(**settings).wanted(1) == 1


def test_no_gpu_means_cores_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))
    assert visible_gpus() == []
    assert len(Local(threads=2).devices()) == 4
    assert len(Local(threads=16).devices()) == 1


def test_arrays_fit_the_cluster() -> None:
    assert chunks(2300, 1001) == [1001, 1001, 298]
    assert chunks(5, 5) == [5]
    assert Slurm(trials_per_worker=10).wanted(95) == 10
    assert Slurm(workers=4).wanted(95) == 4
    assert Slurm(workers=4).wanted(2) == 2
    with pytest.raises(ConfigError, match="one of the two"):
        Slurm(workers=4, trials_per_worker=3).wanted(9)


def test_settings_of_launchers_are_checked(bertxfer: Run) -> None:
    with pytest.raises(ConfigError, match="has no such setting"):
        make({"kind": "local", "partition": "gpu"})
    habit = bertxfer("hydra/launcher=submitit_slurm", "-m", "seed=0,1")
    assert habit.returncode == 2
    assert "hydra/launcher=slurm" in habit.stderr


@pytest.mark.parametrize("name", list(LAUNCHERS))
def test_the_settings_that_a_config_shows_are_the_launchers_own(name: str) -> None:
    shown = yaml.safe_load((conf_dir() / "hydra" / "launcher" / f"{name}.yaml").read_text())
    assert shown.pop("kind") == name and shown.pop("_target_").startswith("hydra_plugins.")
    own = asdict(LAUNCHERS[name]())
    assert {key: own[key] for key in shown} == shown
    assert {"stale_seconds", "max_crashes"} <= set(shown)
