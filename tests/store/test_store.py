"""The store: a crash at any write leaves the old state or the new."""

import errno
import os
import stat
from pathlib import Path

import pytest
import yaml

from bertxfer.errors import BertxferError
from bertxfer.store.store import Store
from bertxfer.system import files
from bertxfer.trials.trial import Trial, trial_of
from tests.helpers.configs import composed


@pytest.fixture
def trial() -> Trial:
    return trial_of(composed("scheme=incremental", "k=3"))


def test_a_result_is_there_only_when_it_is_whole(trial: Trial, tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.result(trial.id) is None
    folder = store.begin(trial)
    assert store.result(trial.id) is None
    (folder / ".result.json.abc.tmp").write_text('{"id": ')  # what a crash in mid-write leaves
    assert store.result(trial.id) is None
    store.finish(trial, {"id": trial.id, "score": 0.5})
    found = store.result(trial.id)
    assert found is not None and found["score"] == 0.5


def test_a_write_that_fails_leaves_the_old_file_and_no_rubbish(tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    files.write_text(path, "old")

    def disk_full(temporary: Path) -> None:
        temporary.write_text("ne")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        files.write_whole(path, disk_full)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_the_first_of_two_that_are_written_at_once_stays(tmp_path: Path) -> None:
    path = tmp_path / "result.json"

    def other_is_faster(temporary: Path) -> None:
        temporary.write_text("second")
        files.write_text(path, "first", first=True)

    files.write_whole(path, other_is_faster, first=True)
    assert path.read_text() == "first"
    assert [p.name for p in tmp_path.iterdir()] == ["result.json"]


def test_file_modes_follow_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        files.write_text(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("content", ["", '{"id": "0123"}', "not json"])
def test_a_result_that_is_not_ours_is_an_error(trial: Trial, tmp_path: Path, content: str) -> None:
    store = Store(tmp_path)
    folder = store.begin(trial)
    (folder / "result.json").write_text(content)
    with pytest.raises(BertxferError, match="move it away"):
        store.result(trial.id)


def test_a_result_without_its_config_is_an_error(trial: Trial, tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.begin(trial)
    store.finish(trial, {"id": trial.id, "score": 0.5})
    (folder / "config.yaml").unlink()
    with pytest.raises(BertxferError, match=r"config\.yaml"):
        store.result(trial.id)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("  epochs: 5\n", "  epochs: 6\n"),
        ("semantics: 4\n", "semantics: 4\ntraining: {}\n"),  # the later of two keys counts
        ("semantics: 4\n", "semantics: 4\n---\nsemantics: 4\n"),
        ("semantics: 4\n", "semantics: 4\nmore: 1\n"),
        ("semantics: 4\n", ""),
        ("semantics: 4\n", "semantics: [1\n"),
    ],
)
def test_a_result_whose_config_was_edited_is_not_trusted(trial: Trial, tmp_path: Path, old: str, new: str) -> None:
    store = Store(tmp_path)
    folder = store.begin(trial)
    store.finish(trial, {"id": trial.id, "score": 0.5})
    assert store.result(trial.id) is not None
    text = (folder / "config.yaml").read_text()
    assert old in text
    (folder / "config.yaml").write_text(text.replace(old, new))
    with pytest.raises(BertxferError, match=r"config\.yaml"):
        store.result(trial.id)


def test_a_config_says_the_same_in_another_layout(trial: Trial, tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.begin(trial)
    store.finish(trial, {"id": trial.id, "score": 0.5})
    plain = yaml.safe_load((folder / "config.yaml").read_text())
    (folder / "config.yaml").write_text("# by hand\n" + yaml.safe_dump(plain, default_flow_style=True, sort_keys=True))
    assert store.result(trial.id) is not None and store.config(trial.id) == plain


def test_a_failure_is_forgotten_when_the_trial_ends_well(trial: Trial, tmp_path: Path) -> None:
    store = Store(tmp_path)
    folder = store.begin(trial)
    store.fail(trial, ValueError("unlucky"))
    assert store.why_failed(trial.id) == "ValueError: unlucky"
    store.finish(trial, {"id": trial.id, "score": 0.5})
    assert not (folder / "failure.json").exists()


def test_a_damaged_config_is_written_anew_only_while_there_is_no_result(trial: Trial, tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.begin(trial) / "config.yaml"
    good = path.read_bytes()
    for damage in (b"", good[:40], good.replace(b"seeds", b"se\xffds"), good.replace(b"0.02", b"0.03")):
        assert damage != good
        path.write_bytes(damage)
        store.begin(trial)
        assert path.read_bytes() == good
    path.write_bytes(good[:40])  # while the trial runs
    store.finish(trial, {"id": trial.id, "score": 0.5})
    assert store.result(trial.id) is not None
    path.write_bytes(good.replace(b"0.02", b"0.03"))
    with pytest.raises(BertxferError, match="hashes to"):
        store.begin(trial)
