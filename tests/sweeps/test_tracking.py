"""Finished trials in other tools, compared with what the store has of them."""

import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from bertxfer.config.schema import ArtifactSettings, Runtime
from bertxfer.errors import ConfigError
from bertxfer.store.store import Store
from bertxfer.sweeps import trackers, tracking
from bertxfer.sweeps.manifest import freeze
from bertxfer.sweeps.summary import MINI_NOTE
from bertxfer.sweeps.sweep import Sweep
from bertxfer.sweeps.trackers import check as check_trackers
from bertxfer.trials.trial import trial_of
from tests.helpers.commands import Run, only_line, tiny_words
from tests.helpers.configs import composed
from tests.helpers.stored import finish_two_epochs, point


def stored(tmp_path: Path) -> tuple[Path, dict[str, Any], list[dict[str, Any]]]:
    """The only trial of the store: its folder, its result, its history."""
    (folder,) = (tmp_path / "out" / "trials").iterdir()
    lines = (folder / "history.jsonl").read_text().splitlines()
    return folder, json.loads((folder / "result.json").read_text()), [json.loads(line) for line in lines]


def scalars(tmp_path: Path, trial_id: str) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard itself reads of a trial."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    (folder,) = (tmp_path / "out" / "tracking" / "tensorboard").glob(f"*{trial_id}")
    read = EventAccumulator(str(folder))
    read.Reload()
    return {name: [(event.step, event.value) for event in read.Scalars(name)] for name in read.Tags()["scalars"]}


def test_a_trial_is_logged_when_it_ends(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = tiny_words(shallow_model, "data.dev_n=16", "runtime.track=tensorboard", "training.evaluate=every")
    # A launcher that looks this often sees the result before the worker has logged it.
    ran = bertxfer(*words, "-m", "seed=3", "hydra.launcher.workers=1", "+hydra.launcher.poll_seconds=0.02")
    assert ran.returncode == 0 and "lacks" not in ran.stdout, ran.stderr + ran.stdout
    assert "all trials have ended; the last ones are logged to tensorboard" in ran.stdout
    folder, result, history = stored(tmp_path)
    found = scalars(tmp_path, folder.name)
    steps = [event for event in history if "loss" in event]
    epochs = [event for event in history if "loss" not in event]
    assert len(steps) == 6 and len(epochs) == 2
    for name in ("loss", "lr"):
        assert found[f"train/{name}"] == [(e["step"], pytest.approx(e[name], rel=1e-6)) for e in steps]
    assert found["dev/accuracy"] == [(e["step"], pytest.approx(e["accuracy"], rel=1e-6)) for e in epochs]
    assert found["result/score"][0][1] == pytest.approx(result["score"], rel=1e-6)
    assert tracking.track(folder.name, Store(tmp_path / "out"), ["tensorboard"], print)
    assert scalars(tmp_path, folder.name) == found  # and not twice


def test_a_tracker_that_fails_fails_no_trial_and_can_be_asked_again(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tracking").write_text("in the way")
    ran = bertxfer(*tiny_words(shallow_model, "data.dev_n=16", "runtime.track=[tensorboard]"))
    assert ran.returncode == 0, ran.stderr
    folder, result, _ = stored(tmp_path)
    assert f"not tracked  {folder.name}: tensorboard: " in ran.stdout and result["score"] is not None
    assert len(list((folder / "attempts").iterdir())) == 1 and not (folder / "failure.json").exists()
    refused = bertxfer("track", "tensorboard")
    assert refused.returncode == 1 and "0 of 1 finished trials are logged" in refused.stdout
    (tmp_path / "out" / "tracking").unlink()
    assert tracking.track(folder.name, Store(tmp_path / "out"), ["tensorboard"], print)
    assert scalars(tmp_path, folder.name)["result/score"][0][1] == pytest.approx(result["score"], rel=1e-6)


def test_a_tracker_that_hangs_holds_up_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, said, asked = Store(tmp_path), list[str](), list[str]()
    trial_id, _ = finish_two_epochs(store)

    def hang(told: tracking.Story, root: Path) -> None:
        asked.append(told.id)
        threading.Event().wait()

    monkeypatch.setitem(trackers.TRACKERS._things, "tensorboard", hang)
    monkeypatch.setattr(tracking, "PATIENCE", 0.2)
    monkeypatch.setattr(tracking, "_hung", set())
    assert not tracking.track(trial_id, store, ["tensorboard"], said.append)
    assert f"not tracked  {trial_id}: tensorboard: it did not answer in 0.2 s" in said[0]
    assert not tracking.track(trial_id, store, ["tensorboard"], said.append)
    assert asked == [trial_id] and "it hung before" in said[1]
    assert tracking.lacking([trial_id], store, ["tensorboard"])


def test_a_sweep_says_how_many_of_its_trials_a_tracker_lacks(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model, "data.dev_n=16"), "-m", "seed=3,4", "hydra/launcher=inline"]
    assert "lacks" not in bertxfer(*words).stdout
    said = bertxfer(*words, "runtime.track=tensorboard").stdout
    (sweep,) = (tmp_path / "out" / "sweeps").iterdir()
    assert f"tensorboard lacks 2 of them; `python -m bertxfer track tensorboard {sweep.name}` logs them" in said
    assert "2 of 2 finished" in bertxfer("track", "tensorboard", sweep.name).stdout
    assert "lacks" not in bertxfer(*words, "runtime.track=tensorboard").stdout


def test_what_was_done_before_can_be_tracked_by_sweep(bertxfer: Run, tmp_path: Path) -> None:
    store = Store(tmp_path / "out")
    trial_id, _ = finish_two_epochs(store)
    other = point("scheme=incremental", k=4)
    freeze(Sweep([point("scheme=incremental", k=3)], Runtime(output_dir=str(store.root)), ArtifactSettings(), "one"))
    freeze(Sweep([other], Runtime(output_dir=str(store.root)), ArtifactSettings(), "two"))
    assert "0 of 0 finished" in bertxfer("track", "tensorboard", "two").stdout
    assert "1 of 1 finished" in bertxfer("track", "tensorboard", "one").stdout
    assert scalars(tmp_path, trial_id)["dev/matthews"] == [(2, 0.5)]


def test_trackers_are_refused_before_anything_starts(bertxfer: Run, tmp_path: Path) -> None:
    ran = bertxfer("-m", "seed=0..9", "runtime.track=[tensorboard,clearml]")
    assert ran.returncode == 2 and not (tmp_path / "out").exists()
    said = only_line(ran.stderr)
    assert said == "bertxfer: runtime.track: 'clearml' is not one of tensorboard, mlflow, wandb"
    assert only_line(bertxfer("plan", "-m", "seed=0..9", "runtime.track=[clearml]").stderr) == said
    assert "'clearml' is not one of" in only_line(bertxfer("track", "clearml").stderr)


def test_a_package_that_is_not_installed_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    trackers._installed.cache_clear()
    monkeypatch.setitem(sys.modules, "wandb", None)  # as Python marks what cannot be imported
    with pytest.raises(
        ConfigError, match=r"^runtime.track: wandb is not installed here; pip install 'bertxfer\[wandb]'$"
    ):
        check_trackers(["tensorboard", "wandb"])
    trackers._installed.cache_clear()


def test_tracking_is_no_part_of_an_id() -> None:
    assert trial_of(composed("runtime.track=[tensorboard]")).id == trial_of(composed()).id


def test_a_story_has_the_course_and_no_number_for_what_is_undefined(tmp_path: Path) -> None:
    trial_id, _ = finish_two_epochs(Store(tmp_path))
    told = tracking.story(trial_id, Store(tmp_path))
    assert told.course == {
        1: {"train/loss": 0.75, "train/lr": 0.5, "epoch": 1.0, "dev/accuracy": 0.5},
        2: {"train/loss": 0.25, "train/lr": 0.125, "epoch": 2.0, "dev/accuracy": 0.625, "dev/matthews": 0.5},
    }
    assert told.outcome == {"accuracy": 0.625}
    assert told.settings["optimizer.lr"] == 5e-4 and told.settings["note"] == MINI_NOTE
