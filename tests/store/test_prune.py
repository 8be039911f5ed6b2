"""What a store could do without: what is listed, what goes, and above all what never goes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bertxfer.config.schema import ArtifactSettings, Runtime
from bertxfer.errors import BertxferError
from bertxfer.review.listing import ListedPoint, Listing
from bertxfer.store import prune
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest, pruning
from bertxfer.sweeps.pruning import Meant
from bertxfer.sweeps.queue import Queue
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.system.processes import whoami
from bertxfer.trials import chains
from tests.helpers.commands import Run, only_line
from tests.helpers.stored import finish, point

NOTHING = Meant()
DAY = 24 * 3600


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "out")


def frozen(store: Store, *places: Point, days_ago: float = 0) -> Path:
    folder = manifest.freeze(Sweep(list(places), Runtime(output_dir=str(store.root)), ArtifactSettings())).folder
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (time.time() - days_ago * DAY,) * 2)
    return folder


def looked(store: Store, kind: str, meant: Meant = NOTHING, days: float = 30) -> list[str]:
    """The names of what is listed of a kind."""
    found = pruning.look(store, [kind], days, lambda: meant)
    return [item.path.relative_to(store.root).as_posix() for item in found.items[kind]]


def names(store: Store) -> set[str]:
    return {path.name for path in (store.root / "trials").iterdir()}


# --- trials ----------------------------------------------------------------------------------------------------------


def test_trials_that_nothing_names_go_and_all_others_stay(store: Store) -> None:
    named, meant, loose, failed, begun, running = (point(seed=seed) for seed in range(6))
    for place in (named, meant, loose, running):
        finish(place, store, 0.5)
    store.begin(failed.trial)
    store.fail_with(failed.trial.id, "no memory")
    store.begin(begun.trial)
    frozen(store, named)
    attempt = Queue(store, "again").take(running.trial.id, ("weights",))  # for an analysis beside its result
    assert attempt is not None
    known = Meant(ids={meant.trial.id})
    expected = sorted(f"trials/{place.trial.id}" for place in (loose, failed))
    assert looked(store, "trials", known) == expected
    pruning.delete(store, pruning.look(store, ["trials"], 30, lambda: known))
    attempt.end("released")
    assert names(store) == {place.trial.id for place in (named, meant, begun, running)}


def test_the_stages_of_a_chain_that_is_kept_stay(store: Store) -> None:
    """Both those that follow from a sweep's or an experiment's config and those that a result names itself."""
    chained = [point("scheme=sequential", "intermediate=[mini_cola,mini_qnli]", seed=seed) for seed in (0, 1)]
    for place in chained:
        for stage in chains.prefixes(place.trial):
            finish(Point({}, stage), store, 0.5)
    loose = point(seed=9)
    finish(loose, store, 0.5)
    assert len(names(store)) == 5
    frozen(store, chained[0])
    science = json.loads(json.dumps(chained[1].trial.science.as_dict()))
    known = Meant([science], {chained[1].trial.id})
    assert looked(store, "trials", known) == [f"trials/{loose.trial.id}"]
    # An earlier semantics has other ids than follow from the config today.
    finish(point(seed=7), store, 0.5, begun_from=loose.trial.id)
    frozen(store, chained[0], point(seed=7))
    assert looked(store, "trials", known) == []


def test_the_stages_that_are_reckoned_from_a_listing_are_those_of_the_trial() -> None:
    """A listing has every key of a config, a stored config only those that its id has."""
    from bertxfer.review.listing import _Shared

    place = point("scheme=sequential", "intermediate=[mini_cola,mini_qnli]", "probe.features=null")
    listed = ListedPoint({}, place.trial.id, _Shared().parts(place.trial.science), {})
    listing = Listing({"x": [listed]}, [], 3)
    assert listing.ids == {place.trial.id}
    assert pruning._stages(listed.science) == [stage.id for stage in chains.prefixes(place.trial)]
    assert len(pruning._stages(listed.science)) == 2


def test_what_is_absent_on_this_machine_keeps_its_trials(store: Store) -> None:
    """Their ids are not known here, so conf/ may mean them; so it is with what cannot be read."""
    qnli, cola, chained = point("task=mini_qnli"), point("task=mini_cola"), point("task=mini_sst2")
    for place in (qnli, cola):
        finish(place, store, 0.5)
    place = point("scheme=sequential", "intermediate=mini_qnli", "task=mini_cola")
    finish(place, store, 0.5)
    finish(chained, store, 0.5)
    (store.folder(chained.trial.id) / "config.yaml").write_text("{}")
    found = pruning.look(store, ["trials"], 30, lambda: Meant(absent=["data of task mini_qnli"]))
    assert [item.path.name for item in found.items["trials"]] == [cola.trial.id]
    assert "3 more are kept" in found.notes[0] and "data of task mini_qnli" in found.notes[0]
    found = pruning.look(store, ["trials"], 30, lambda: Meant(absent=["model mini"]))
    assert not found.items["trials"]


@pytest.mark.parametrize("what", ["experiment", "sweep"])
def test_no_trial_goes_while_something_cannot_be_read_that_may_name_it(what: str, store: Store) -> None:
    finish(point(seed=1), store, 0.5)
    path = frozen(store, point(seed=2)) / "manifest.json"
    if what == "sweep":
        path.write_text(path.read_text()[:100])
    found = pruning.look(store, ["trials"], 30, lambda: Meant(broken=["tamkin2020/fig2"] if what != "sweep" else []))
    assert not found.items["trials"]
    assert (path.parent.name if what == "sweep" else "experiment tamkin2020/fig2") in found.notes[0]


def test_on_the_command_line(store: Store, bertxfer: Run) -> None:
    """With the experiments of conf/ themselves."""
    meant = point("experiment=mini", "task=mini_qnli", "scheme=scratch")
    loose, named = point("data.n=17"), point("data.n=18")
    for place in (meant, loose, named):
        finish(place, store, 0.5)
    frozen(store, named)
    listed = bertxfer("prune", "trials")
    assert listed.returncode == 0, listed.stderr
    assert f"trials/{loose.trial.id}" in listed.stdout and meant.trial.id not in listed.stdout
    assert "nothing was deleted; `python -m bertxfer prune trials --delete` does it" in listed.stdout
    assert len(names(store)) == 3
    deleted = bertxfer("prune", "trials", "--delete")
    assert deleted.returncode == 0, deleted.stderr
    assert names(store) == {meant.trial.id, named.trial.id}
    assert store.result(meant.trial.id) is not None


# --- the other kinds -------------------------------------------------------------------------------------------------


def test_old_sweeps_go_unless_somebody_works_on_them(store: Store) -> None:
    old, recent, at_work, in_a_trial = (
        frozen(store, point(seed=seed), days_ago=days) for seed, days in ((1, 31), (2, 29), (3, 31), (4, 31))
    )
    finish(point(seed=1), store, 0.5)
    (at_work / "workers").mkdir()
    card = at_work / "workers" / "x.json"
    card.write_text(json.dumps({"worker": whoami()}))
    attempt = Queue(store, "x").take(point(seed=4).trial.id)
    assert attempt is not None
    assert looked(store, "sweeps") == [f"sweeps/{old.name}"]
    assert set(looked(store, "sweeps", days=0)) == {f"sweeps/{old.name}", f"sweeps/{recent.name}"}
    assert card.exists()
    pruning.delete(store, pruning.look(store, ["sweeps"], 30, lambda: NOTHING))
    attempt.end("released")
    assert {path.name for path in (store.root / "sweeps").iterdir()} == {recent.name, at_work.name, in_a_trial.name}
    assert store.result(point(seed=1).trial.id) is not None


def test_artifacts_and_tokens_are_emptied_and_their_locks_stay(store: Store) -> None:
    files = [
        store.root / "artifacts" / part
        for part in ("encoders/a/1.safetensors", "features/b/2.safetensors", "tokens/c/3.arrow")
    ]
    for path in files:
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 1000)
        (path.parent / "lock").touch()
        (path.parent / ".new.safetensors.tmp").write_text("somebody writes this")
    assert looked(store, "artifacts") == ["artifacts/encoders/a", "artifacts/features/b"]
    assert looked(store, "tokens") == ["artifacts/tokens/c"]
    pruning.delete(store, pruning.look(store, ["artifacts"], 30, lambda: NOTHING))
    assert [path.exists() for path in files] == [False, False, True]
    pruning.delete(store, pruning.look(store, ["tokens"], 30, lambda: NOTHING))
    assert not files[2].exists()
    assert all((path.parent / name).exists() for path in files for name in ("lock", ".new.safetensors.tmp"))
    assert looked(store, "artifacts") == looked(store, "tokens") == []


def test_checkpoints_of_trials_that_nobody_runs_go(store: Store) -> None:
    idle, running = point(seed=1).trial, point(seed=2).trial
    for one in (idle, running):
        store.begin(one)
        store.checkpoint(one.id).mkdir()
        (store.checkpoint(one.id) / "x.pt").write_bytes(b"x" * 5000)
    attempt = Queue(store, "x").take(running.id)
    assert attempt is not None
    found = pruning.look(store, ["checkpoints"], 30, lambda: NOTHING)
    assert [(item.path, item.size) for item in found.items["checkpoints"]] == [(store.checkpoint(idle.id), 5000)]
    pruning.delete(store, found)
    attempt.end("released")
    assert not store.checkpoint(idle.id).exists() and store.checkpoint(running.id).is_dir()
    assert (store.folder(idle.id) / "config.yaml").exists()


def test_a_trial_that_was_begun_after_the_listing_stays(store: Store) -> None:
    one = point(seed=1).trial
    store.begin(one)
    store.checkpoint(one.id).mkdir()
    found = pruning.look(store, ["checkpoints"], 30, lambda: NOTHING)
    attempt = Queue(store, "x").take(one.id)
    assert attempt is not None and found.items["checkpoints"]
    pruning.delete(store, found)
    attempt.end("released")
    assert store.checkpoint(one.id).is_dir()


def test_a_trial_that_a_sweep_names_since_the_listing_stays(store: Store) -> None:
    named, loose = point(seed=1), point(seed=2)
    for place in (named, loose):
        finish(place, store, 0.5)
    found = pruning.look(store, ["trials"], 30, lambda: NOTHING)
    assert len(found.items["trials"]) == 2
    frozen(store, named)
    pruning.delete(store, found)
    assert names(store) == {named.trial.id}


# --- what is refused, and what is left alone -------------------------------------------------------------------------


def test_deleting_needs_to_be_told_what(store: Store, bertxfer: Run, tmp_path: Path) -> None:
    (store.root / "artifacts" / "tokens" / "c").mkdir(parents=True)
    (store.root / "artifacts" / "tokens" / "c" / "3.arrow").write_bytes(b"x" * 2_000_000)
    refused = bertxfer("prune", "--delete")
    assert refused.returncode == 1 and "--delete needs to be told what" in only_line(refused.stderr)
    refused = bertxfer("prune", "everything", "--delete")
    assert refused.returncode == 1 and "'everything' is not a kind" in only_line(refused.stderr)
    refused = bertxfer("prune", "--output-dir", "nowhere")
    assert refused.returncode == 1 and "there is no results folder" in only_line(refused.stderr)
    assert not (tmp_path / "nowhere").exists()
    listed = bertxfer("prune", "tokens", "checkpoints")
    assert listed.returncode == 0 and "2.0 MB  artifacts/tokens/c" in listed.stdout
    assert "prune tokens --delete" in listed.stdout
    assert (store.root / "artifacts" / "tokens" / "c" / "3.arrow").exists()
    assert bertxfer("prune", "tokens", "--delete").stdout.endswith("deleted\n")
    assert not (store.root / "artifacts" / "tokens" / "c" / "3.arrow").exists()


def test_nothing_is_reached_through_a_link(store: Store, tmp_path: Path) -> None:
    """Of a trial, of all trials, of artifacts, of a checkpoint."""
    finish(point(seed=1), store, 0.5)
    trial_id = point(seed=1).trial.id
    elsewhere = tmp_path / "elsewhere"
    store.folder(trial_id).rename(elsewhere)
    store.folder(trial_id).symlink_to(elsewhere)
    one = point(seed=2).trial
    store.begin(one)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "x.pt").write_text("x")
    store.checkpoint(one.id).symlink_to(tmp_path / "saved")
    (tmp_path / "tokens" / "c").mkdir(parents=True)
    (tmp_path / "tokens" / "c" / "3.arrow").write_text("x")
    (store.root / "artifacts").mkdir()
    (store.root / "artifacts" / "tokens").symlink_to(tmp_path / "tokens")
    for kind in prune.KINDS:
        assert looked(store, kind, days=0) == []
    with pytest.raises(BertxferError, match="leads through a link"):
        prune.remove(store, store.folder(trial_id))
    with pytest.raises((BertxferError, ValueError)):
        prune.remove(store, tmp_path / "saved")
    with pytest.raises(BertxferError):
        prune.remove(store, store.root / "trials" / ".." / ".." / "saved")
    store.folder(trial_id).unlink()
    (store.root / "trials").rename(tmp_path / "trials")
    (store.root / "trials").symlink_to(tmp_path / "trials")
    elsewhere.rename(tmp_path / "trials" / trial_id)
    assert looked(store, "trials") == [] and store.result(trial_id) is not None


def test_a_link_within_what_goes_is_not_followed(store: Store, tmp_path: Path) -> None:
    finish(point(seed=1), store, 0.5)
    trial_id = point(seed=1).trial.id
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "kept").write_text("x")
    (store.folder(trial_id) / "model").symlink_to(tmp_path / "mine")
    pruning.delete(store, pruning.look(store, ["trials"], 30, lambda: NOTHING))
    assert not names(store) and (tmp_path / "mine" / "kept").exists()


def test_a_store_that_is_itself_behind_a_link_is_pruned(tmp_path: Path) -> None:
    """As a results folder on another disk often is: the user has named it."""
    real = Store(tmp_path / "real")
    finish(point(seed=1), real, 0.5)
    (tmp_path / "out").symlink_to(tmp_path / "real")
    store = Store(tmp_path / "out")
    assert looked(store, "trials") == [f"trials/{point(seed=1).trial.id}"]
    pruning.delete(store, pruning.look(store, ["trials"], 30, lambda: NOTHING))
    assert not names(real)


def test_what_a_killed_prune_leaves_is_no_trial_and_goes_with_the_next(store: Store, tmp_path: Path) -> None:
    """Killed after the renaming, before anything is removed: as if rmtree had not come to it."""
    finish(point(seed=1), store, 0.5)
    trial_id = point(seed=1).trial.id
    code = (
        "import os, shutil, signal, sys\n"
        "from pathlib import Path\n"
        "from bertxfer.store import prune\n"
        "from bertxfer.store.store import Store\n"
        "shutil.rmtree = lambda path: os.kill(os.getpid(), signal.SIGKILL)\n"
        "store = Store(sys.argv[1])\n"
        "prune.remove(store, store.folder(sys.argv[2]))\n"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(store.root), trial_id], check=False)
    assert killed.returncode == -signal.SIGKILL
    left = [path.name for path in (store.root / "trials").iterdir()]
    assert len(left) == 1 and left[0].startswith(".pruned.")
    (store.root / "trials" / left[0] / "result.json").write_text("{}")
    assert store.finished() == set() and not store.has(trial_id) and looked(store, "trials") == []
    pruning.delete(store, pruning.look(store, ["trials"], 30, lambda: NOTHING))
    assert not names(store)
