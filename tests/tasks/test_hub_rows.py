"""Rows from the hub: everything but the download, on folders laid out as the hub's repositories are."""

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertxfer.errors import ConfigError, DataError
from bertxfer.tasks import Answers, source_of
from bertxfer.trials.trial import trial_of
from tests.helpers.commands import Run, tiny_words
from tests.helpers.configs import composed


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def repository(folder: Path, config: str, splits: dict[str, list[dict[str, Any]]]) -> Path:
    """One config of a data set as the hub keeps it: a README with the paths, and Parquet files."""
    (folder / config).mkdir(parents=True)
    lines = ["---", "configs:", f"- config_name: {config}", "  data_files:"]
    for split, rows in splits.items():
        pq.write_table(pa.Table.from_pylist(rows), folder / config / f"{split}-00000-of-00001.parquet")
        lines += [f"  - split: {split}", f"    path: {config}/{split}-*"]
    (folder / "README.md").write_text("\n".join([*lines, "---", ""]))
    return folder


def glue(folder: Path, dev_label: int = 1) -> Path:
    rows = [{"sentence1": f"one {i}", "sentence2": f"two {i}", "label": i % 2, "idx": i} for i in range(30)]
    return repository(folder, "mrpc", {"train": rows, "validation": [{**rows[0], "label": dev_label}, *rows[1:5]]})


def squad(folder: Path) -> Path:
    row = {"id": "q1", "title": "t", "context": "Ada wrote it.", "question": "Who wrote it?"}
    answered = {**row, "answers": {"text": ["Ada"], "answer_start": [0]}}
    without = {**row, "id": "q2", "answers": {"text": [], "answer_start": []}}
    return repository(folder, "squad_v2", {"train": [answered, without], "validation": [answered, without]})


def test_glue_as_the_hub_has_it(tmp_path: Path) -> None:
    trial = trial_of(composed("task=mrpc", "data.root=null", f"task.hub.path={glue(tmp_path / 'glue')}"))
    source = source_of(trial.science.task, trial.data_at)
    assert (source.size("train"), source.size("dev")) == (30, 5)
    assert source.rows("train", [3, 2]).texts == [("one 3", "two 3"), ("one 2", "two 2")]
    assert source.rows("dev", [0, 1, 2]).labels == [1, 1, 0]


def test_squad_as_the_hub_has_it(tmp_path: Path) -> None:
    words = ["task=squad2", "task.span.question_length=20", "data.root=null", f"task.hub.path={squad(tmp_path / 's')}"]
    trial = trial_of(composed(*words))
    rows = source_of(trial.science.task, trial.data_at).rows("train", [0, 1])
    assert rows.texts[0] == ("Who wrote it?", "Ada wrote it.")
    assert rows.labels == [Answers("q1", ("Ada",), (0,)), Answers("q2", (), ())]


def test_a_dev_set_without_labels_is_refused(tmp_path: Path) -> None:
    """The hub marks hidden labels with -1."""
    trial = trial_of(composed("task=mrpc", "data.root=null", f"task.hub.path={glue(tmp_path / 'glue', dev_label=-1)}"))
    with pytest.raises(DataError, match=r"mrpc, validation, row 1: .*no label"):
        source_of(trial.science.task, trial.data_at)


def test_other_rows_are_another_trial_and_another_place_is_not(tmp_path: Path) -> None:
    words = ["task=mrpc", "data.root=null"]
    one = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'a' / 'glue')}"))
    two = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'b' / 'glue')}"))
    three = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'c' / 'glue', dev_label=0)}"))
    assert one.id == two.id != three.id
    assert one.data_at != two.data_at


def test_a_split_that_is_not_there(tmp_path: Path) -> None:
    folder = glue(tmp_path / "glue")
    trial = trial_of(composed("task=mrpc", "data.root=null", f"task.hub.path={folder}", "task.hub.dev=test"))
    with pytest.raises(DataError, match=rf"{folder}: there is no split test of glue \(mrpc\)"):
        source_of(trial.science.task, trial.data_at)


def test_a_trial_on_the_hubs_layout(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    words = tiny_words(tiny_model, "task=mrpc", "data.root=null", f"task.hub.path={glue(tmp_path / 'glue')}")
    ended = bertxfer(*words, "training.epochs=1", env={"HF_HOME": str(tmp_path / "hf")})
    assert ended.returncode == 0, ended.stderr
    (result,) = (tmp_path / "out" / "trials").glob("*/result.json")
    assert set(json.loads(result.read_text())["metrics"]) == {"mean_accuracy_f1", "accuracy", "f1"}


@pytest.mark.parametrize(
    ("words", "offline", "wanted"),
    [
        (["task=sst2", "data.root=null"], "0", "the data set nyu-mll/glue (sst2) was looked for in"),
        (["model=bert_base_uncased"], "1", "the model google-bert/bert-base-uncased was looked for in"),
        (["model=other", "model.name=nobody/nothing"], "0", "the model nobody/nothing was looked for in"),
    ],
)
def test_no_hub_is_told_at_once(bertxfer: Run, tmp_path: Path, words: list[str], offline: str, wanted: str) -> None:
    env = {"HF_HUB_OFFLINE": offline, "HF_HOME": str(tmp_path / "hf"), "HF_ENDPOINT": "http://hub.invalid"}
    ended = bertxfer(*words, "training.epochs=1", env=env)
    assert ended.returncode != 0
    (line,) = (line for line in ended.stderr.splitlines() if wanted in line)
    assert str(tmp_path / "hf") in line and "http://hub.invalid" in line
    assert ("HF_HUB_OFFLINE is set" if offline == "1" else "did not answer within 3 s") in line
    assert line.endswith("=FOLDER" if "model" in wanted else "data.root=FOLDER (or BERTXFER_DATA)")
    assert "Traceback" not in ended.stderr and "Retrying" not in ended.stderr


@pytest.mark.parametrize("endpoint", ["http://hub.invalid", "http://127.0.0.1:9", "https://192.0.2.1"])
def test_a_hub_that_does_not_answer_is_asked_for_three_seconds_and_once(
    endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    from bertxfer.system import hub

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    started = time.monotonic()
    for _ in range(3):
        with (
            pytest.raises(
                ConfigError, match=r"x: it was looked for in the cache .* did not answer within 3 s; give y as z"
            ),
            hub.asked_for("x", "it", "y", "z"),
        ):
            assert constants.is_offline_mode()
            raise OSError("not in the cache")
    assert time.monotonic() - started < 4


def test_a_hub_that_answers_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    from bertxfer.system import hub

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")
        answered = pytest.raises(ConfigError, match=r"which answered OSError \(no such thing\); give y as z")
        with answered, hub.asked_for("x", "it", "y", "z"):
            raise OSError("no such thing\nand more lines")
