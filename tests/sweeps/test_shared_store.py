"""A store that a group shares is data: links are not followed, and nothing is done because a file says so."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertxfer.learning.checkpoints import Checkpoints
from bertxfer.store.artifacts import Artifacts
from bertxfer.store.store import Store
from bertxfer.sweeps import card as cards
from bertxfer.sweeps import manifest, worker
from bertxfer.sweeps.attempt import Rules
from bertxfer.sweeps.launch import cancelled, mark_cancelled, new_launch, rules_of, write_down
from bertxfer.sweeps.launchers.local import Local
from bertxfer.sweeps.queue import Queue
from bertxfer.system import leftovers
from bertxfer.system.files import read_plain
from bertxfer.system.processes import host, started_at, whoami
from tests.helpers.commands import Run, tiny_words
from tests.helpers.frozen import frozen
from tests.helpers.sweeping import wait_until

TINY = ("training.epochs=1", "data.n=16", "data.dev_n=16")


@pytest.fixture
def bait(tmp_path: Path) -> Iterator[Path]:
    """A folder of somebody else's, with files of the kinds that the program deletes; all must be there at the end."""
    folder = tmp_path / "others"
    folder.mkdir()
    names = {"a.pt", "b.safetensors", ".c.x.tmp", "d.json", "1.json", "e.arrow", "used", "index.html"}
    for name in names:
        (folder / name).write_text("{}")
        os.utime(folder / name, (1, 1))
    yield folder
    assert {path.name for path in folder.iterdir()} == names
    assert all(path.stat().st_mtime == 1 and path.read_text() == "{}" for path in folder.iterdir())


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that is not a worker, and must live on."""
    process = subprocess.Popen(["sleep", "300"])
    yield process
    assert process.poll() is None
    process.kill()
    process.wait()


@pytest.mark.parametrize("part", ["checkpoint", "attempts", "model", ""])
def test_a_trial_with_a_link_in_it_fails_alone(
    part: str, bait: Path, bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model), *TINY]
    sweep = frozen(tmp_path / "out", *words, seeds=2)
    first, second = (trial.id for trial in sweep.trials)
    link = sweep.store.folder(first) / part
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(bait)
    ended = bertxfer(*words, "runtime.checkpoint_seconds=0", "-m", "seed=0,1")
    assert ended.returncode == 1
    assert f"failed  {first}: {link} is a link, which is not followed; remove it" in ended.stderr
    assert sweep.store.finished() == {second}
    assert "is a link" in bertxfer("status", sweep.name).stdout
    link.unlink()
    assert bertxfer(*words, "-m", "seed=0,1").returncode == 0
    assert sweep.store.finished() == {first, second}


def test_a_link_that_is_planted_in_the_midst_is_not_followed(bait: Path, tmp_path: Path) -> None:
    (tmp_path / "trial").mkdir()
    (tmp_path / "trial" / "checkpoint").symlink_to(bait)
    with pytest.raises(OSError, match="is a link"):
        Checkpoints(tmp_path / "trial" / "checkpoint", 0).save({})
    (tmp_path / "attempts").mkdir()
    (tmp_path / "attempts" / "1.json").symlink_to(bait / "1.json")
    worker.touch(tmp_path / "attempts" / "1.json")
    leftovers.remove_temporaries(tmp_path / "trial" / "checkpoint", time.time())
    (tmp_path / "workers").symlink_to(bait)
    leftovers.remove_cards(tmp_path / "workers", time.time())


def test_an_artifact_behind_a_link_is_neither_used_nor_deleted(bait: Path, tmp_path: Path) -> None:
    artifacts = Artifacts(tmp_path / "artifacts", max_gb=0)
    (tmp_path / "artifacts" / "encoders").mkdir(parents=True)
    (tmp_path / "artifacts" / "encoders" / "name").symlink_to(bait)
    (tmp_path / "artifacts" / "features").symlink_to(bait.parent)  # bait is others/ there
    assert not artifacts.has("encoders", "name") and artifacts.read("encoders", "name") == []
    assert artifacts.read("features", "others") == []
    with pytest.raises(OSError, match="is a link"):
        artifacts.write("encoders", "name", lambda path: path.write_text("x"))
    with pytest.raises(OSError, match="is a link"), artifacts.alone("features", "others"):
        pass
    artifacts.write("encoders", "mine", lambda path: path.write_text("x"))  # evicts all others


@pytest.mark.parametrize("part", ["sweeps", "workers", "launches", "logs", "reports"])
def test_sweeps_and_reports_are_not_written_through_a_link(
    part: str, bait: Path, bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model), *TINY, "-m", "seed=0"]
    if part in ("sweeps", "reports"):
        assert bertxfer(*words, "hydra/launcher=inline").returncode == 0
        place = tmp_path / "out" / part
        if part == "sweeps":
            place.rename(tmp_path / "moved")
    else:
        place = frozen(tmp_path / "out", *words[:-2], seeds=1).folder / part
    place.symlink_to(bait)
    ended = bertxfer("report") if part == "reports" else bertxfer(*words)
    assert ended.returncode == 1 and "it is a link, which is not followed" in ended.stderr, ended.stderr


def test_a_forged_card_ends_nobody(
    bystander: "subprocess.Popen[bytes]", bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), *TINY, seeds=1)
    folder = sweep.folder / "workers"
    folder.mkdir()
    known = {**whoami(), "pid": bystander.pid}
    forged = [
        {key: value for key, value in known.items() if key != "pid_started"},
        {**known, "pid_started": None},
        {**known, "pid_started": started_at(bystander.pid)},  # anybody may read that
    ]
    for number, one in enumerate(forged):
        (folder / f"{number}.json").write_text(json.dumps({"worker": one}))
    new_launch(sweep, "local")
    ended = bertxfer("cancel", sweep.name)
    assert ended.returncode == 0 and "0 workers told to stop" in ended.stdout


def test_a_forged_launch_holds_nobody_up(
    bystander: "subprocess.Popen[bytes]", shallow_model: Path, tmp_path: Path
) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), *TINY, seeds=1)
    job = {"id": str(bystander.pid), "host": host(), "pid_started": started_at(bystander.pid)}
    write_down(sweep, new_launch(sweep, "local"), "local", [job])
    assert Local().living(sweep, [job]) == []


def test_a_card_ends_no_attempt_of_another_process(tmp_path: Path) -> None:
    store, outside = Store(tmp_path / "out"), tmp_path / "outside.json"
    trial = "0123456789abcdef"
    held = Queue(store, "first").take(trial)
    assert held is not None
    outside.write_text("{}")
    content = {"worker": whoami(), "pid": 99, "attempts": {trial: 1, "../../outside": 1, "f" * 16: str(outside)}}
    (tmp_path / "card.json").write_text(json.dumps(content))
    card = cards.read(tmp_path / "card.json")
    assert cards.open_attempts(card, 99, store) == {}
    assert cards.open_attempts(card, os.getpid(), store) == {trial: held.path}
    held.end("done")


def test_damage_in_one_place_stops_one_trial(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), *TINY]
    sweep = frozen(tmp_path / "out", *words, seeds=4)
    ids = [trial.id for trial in sweep.trials]
    folders = [sweep.store.folder(trial_id) for trial_id in ids]
    for folder in folders[:3]:
        folder.mkdir(parents=True)
    (folders[0] / "attempts").write_text("a file")
    (folders[1] / "attempts" / "1.json").mkdir(parents=True)
    (folders[2] / "result.json").write_text("{")
    ended = bertxfer(*words, "-m", "seed=0..3")
    assert ended.returncode == 1 and "Traceback" not in ended.stderr
    for trial_id in ids[:3]:
        assert trial_id in ended.stderr
    assert "Not a directory; move it away" in ended.stderr
    assert f"{folders[1] / 'attempts' / '1.json'}: it is not a plain file; move it away" in ended.stderr
    assert (folders[3] / "result.json").exists()


def test_a_living_worker_is_known_by_its_command_line(tmp_path: Path) -> None:
    """Started as submitit starts one; it waits for its orders."""
    folder = tmp_path / "out" / "sweeps" / "sweep-1"
    (folder / "logs").mkdir(parents=True)
    post = json.dumps({"sweep": str(folder), "launch": "x"})
    sleeper = tmp_path / "sleep.py"
    sleeper.write_text("import time; print('up', flush=True); time.sleep(60)")
    for words, ours in (
        (["-m", "bertxfer.sweeps.worker", post], True),
        (["-m", "bertxfer.sweeps.worker", post.replace("sweep-1", "sweep-2")], False),
        (["-m", "submitit.local._local", str(folder / "logs")], True),
        (["-m", "bertxfer", "worker", "sweep-1"], True),
        (["-m", "bertxfer", "worker", "other"], False),
        (["-m", "bertxfer", "status", "sweep-1"], False),
    ):
        process = subprocess.Popen([sys.executable, str(sleeper), *words], stdout=subprocess.PIPE)
        assert process.stdout is not None and process.stdout.readline() == b"up\n"
        assert cards.is_worker(process.pid, folder) is ours, words
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.parametrize("what", ["dangling link", "pipe", "deep", "long name", "empty host"])
def test_whatever_lies_among_the_attempts_stops_one_trial_at_most(
    what: str, bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [*tiny_words(shallow_model), *TINY]
    sweep = frozen(tmp_path / "out", *words, seeds=2)
    first, second = (trial.id for trial in sweep.trials)
    folder = sweep.store.folder(first) / "attempts"
    folder.mkdir(parents=True)
    if what == "dangling link":
        (folder / "1.json").symlink_to(tmp_path / "nowhere")
    elif what == "pipe":
        os.mkfifo(folder / "1.json")
    else:
        name = f"{'9' * 240}.json" if what == "long name" else "1.json"
        (folder / name).write_text("[" * 200_000 if what == "deep" else json.dumps({"host": "", "pid": "x"}))
    ended = bertxfer(*words, "-m", "seed=0,1", "hydra.launcher.stale_seconds=2", timeout=90)
    assert "Traceback" not in ended.stderr and second in sweep.store.finished()
    assert bertxfer("status", sweep.name, timeout=60).returncode == 0
    assert (ended.returncode == 0) == (first in sweep.store.finished())
    assert ended.returncode == 0 or f"failed  {first}: {folder / '1.json'}: " in ended.stderr


@pytest.mark.parametrize("seconds", ["x", float("nan"), -5, 1e-9, 1e308, None, True])
def test_rules_that_make_no_sense_are_not_believed(seconds: object, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    launch = new_launch(sweep, "local")
    path = sweep.folder / "launches" / f"{launch}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rules": {"stale_seconds": seconds, "max_crashes": 0}}))
    assert rules_of(sweep.folder, launch) == Rules()


def test_looking_at_what_is_no_file_holds_nothing_open(tmp_path: Path) -> None:
    (tmp_path / "1.json").mkdir()
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(3):
        with pytest.raises(OSError, match="it is not a plain file"):
            read_plain(tmp_path / "1.json")
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("name", ["workers/a.json", "launches/a.json", "manifest.json", "result.json", "config.yaml"])
def test_a_pipe_makes_nobody_wait(name: str, bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), *TINY, seeds=1)
    sweep.store.begin(sweep.trials[0])
    of_trial = name in ("result.json", "config.yaml")
    path = (sweep.store.folder(sweep.trials[0].id) if of_trial else sweep.folder) / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    assert "Traceback" not in bertxfer("status", sweep.name, timeout=30).stderr
    assert "Traceback" not in bertxfer("cancel", sweep.name, timeout=30).stderr


@pytest.mark.parametrize("verb", ["cancel", "worker"])
def test_verbs_write_no_launch_through_a_link(
    verb: str, bait: Path, bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), *TINY, seeds=1)
    place = bait if verb == "cancel" else tmp_path / "empty"
    place.mkdir(exist_ok=True)
    (sweep.folder / "launches").symlink_to(place)
    ended = bertxfer(verb, sweep.name)
    assert ended.returncode == 1 and "launches: it is a link, which is not followed" in ended.stderr
    assert verb == "cancel" or not list(place.iterdir())


def test_nothing_is_tracked_through_a_link(bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    (tmp_path / "others").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tracking").symlink_to(tmp_path / "others")
    words = [*tiny_words(shallow_model), *TINY, "runtime.track=[tensorboard]", "hydra/launcher=inline"]
    ended = bertxfer(*words, "-m", "seed=0")
    assert "not tracked" in ended.stdout and "is a link" in ended.stdout
    assert not list((tmp_path / "others").iterdir())


def test_nothing_is_logged_through_a_link(bait: Path, bertxfer: Run, shallow_model: Path, tmp_path: Path) -> None:
    words = [*tiny_words(shallow_model), *TINY]
    sweep = frozen(tmp_path / "out", *words, seeds=1)
    (sweep.folder / "logs").mkdir()
    (sweep.folder / "logs" / "4711_0_log.err").symlink_to(bait / "d.json")
    ended = bertxfer(*words, "-m", "seed=0")
    assert ended.returncode == 1 and "4711_0_log.err: it is a link, which is not followed" in ended.stderr


def test_an_attempt_with_the_last_number_stops_its_trial(tmp_path: Path) -> None:
    store, trial = Store(tmp_path), "0123456789abcdef"
    folder = store.folder(trial) / "attempts"
    folder.mkdir(parents=True)
    (folder / "999999999.json").write_text(json.dumps({"outcome": "released"}))
    situation = Queue(store, "first").situation(trial)
    assert situation.state == "failed" and "no attempt can come after it" in situation.damage


def test_forged_restarts_are_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, trial = Store(tmp_path), "0123456789abcdef"
    folder = store.folder(trial) / "attempts"
    folder.mkdir(parents=True)
    (folder / "1.json").write_text(json.dumps({"slurm_job": "7", "slurm_restarts": "x"}))
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    assert Queue(store, "first").situation(trial).state == "running"


def test_a_mark_is_not_set_through_a_link(bait: Path, shallow_model: Path, tmp_path: Path) -> None:
    sweep = frozen(tmp_path / "out", *tiny_words(shallow_model), seeds=1)
    cancelled(sweep.folder, new_launch(sweep, "local")).symlink_to(bait / "1.json")
    cancelled(sweep.folder, new_launch(sweep, "local")).symlink_to(bait / "new")
    mark_cancelled(sweep)


def test_cancel_reaches_a_worker_whose_folder_has_an_unusual_name(
    bertxfer: Run, shallow_model: Path, tmp_path: Path
) -> None:
    words = [
        *tiny_words(shallow_model),
        "training.epochs=1",
        "data.n=60000",
        "-m",
        "seed=0",
        "hydra.launcher.wait=false",
    ]
    env = {"BERTXFER_OUTPUT": str(tmp_path / 'rés "1"')}
    assert bertxfer(*words, env=env).returncode == 0
    (sweep,) = (path.name for path in (tmp_path / 'rés "1"' / "sweeps").iterdir())
    assert "1 workers told to stop" in bertxfer("cancel", sweep, env=env).stdout
    wait_until(lambda: not Local().living(manifest.read(tmp_path / 'rés "1"' / "sweeps" / sweep), jobs(tmp_path)), 60)


def jobs(tmp_path: Path) -> list[dict[str, object]]:
    (launch,) = tmp_path.glob("rés*/sweeps/*/launches/*.json")
    found: list[dict[str, object]] = json.loads(launch.read_text())["jobs"]
    return found
