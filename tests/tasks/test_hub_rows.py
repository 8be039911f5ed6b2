"""Rows from the hub: everything but the download, on folders laid out as the hub's repositories are."""

import csv
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertxfer.errors import ConfigError, DataError
from bertxfer.tasks import Answers, hub_rows, source_of
from bertxfer.tasks.origins import InRepository
from bertxfer.tasks.rows import Columns
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


@pytest.mark.parametrize(
    "pattern",
    "data/* data/** data/**/*.parquet **/*.parquet ./data/a* data/a?.parquet data/[ab]* *.parquet "
    "data/more/../a1.parquet data/a1.parquet".split(),
)
def test_a_pattern_of_a_card_means_what_datasets_takes_it_for(pattern: str, tmp_path: Path) -> None:
    """Every file that would be read is brought."""
    from datasets.data_files import resolve_pattern

    names = ["top.parquet", "data/a1.parquet", "data/b.parquet", "data/more/c.parquet", "data/more/d/e.parquet"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    card = f"---\nconfigs:\n- config_name: one\n  data_files: '{pattern}'\n- config_name: two\n  data_files: x\n---\n"
    (tmp_path / "README.md").write_text(card)
    columns = Columns("x", "classification", ("text",), "label", ("no", "yes"), False)
    origin = InRepository(columns, None, None, "one", "train", "dev")
    (first, brought) = hub_rows.chosen(origin, ["README.md", *names], lambda name: tmp_path / name)
    read = {Path(path).resolve().relative_to(tmp_path).as_posix() for path in resolve_pattern(pattern, str(tmp_path))}
    assert first == ["README.md"] and read <= set(brought)
    assert ".." in pattern or read - {"README.md"} == set(brought) - {"README.md"}


def test_a_dev_set_without_labels_is_refused(tmp_path: Path) -> None:
    """The hub marks hidden labels with -1."""
    config = composed("task=mrpc", "data.root=null", f"task.hub.path={glue(tmp_path / 'glue', dev_label=-1)}")
    with pytest.raises(DataError, match=r"mrpc, validation, row 1: .*no label"):
        trial_of(config)


def test_other_rows_are_another_trial_and_another_place_is_not(tmp_path: Path) -> None:
    words = ["task=mrpc", "data.root=null"]
    one = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'a' / 'glue')}"))
    two = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'b' / 'glue')}"))
    three = trial_of(composed(*words, f"task.hub.path={glue(tmp_path / 'c' / 'glue', dev_label=0)}"))
    assert one.id == two.id != three.id
    assert one.data_at == two.data_at != three.data_at


def version_of(folder: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """As a process finds it that was started after the files had settled."""
    from bertxfer.system import cache

    monkeypatch.setattr(cache, "_SETTLED_SECONDS", -1.0)
    cache._REMEMBERED.clear()
    return trial_of(composed("task=mrpc", "data.root=null", f"task.hub.path={folder}")).science.task.version


def test_rows_behind_a_linked_folder_are_looked_at_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, other, top = glue(tmp_path / "real"), glue(tmp_path / "other", dev_label=0), tmp_path / "top"
    top.mkdir()
    (top / "README.md").write_bytes((real / "README.md").read_bytes())
    (top / "mrpc").symlink_to(real / "mrpc")
    (top / "circle").symlink_to(top)
    before = version_of(top, monkeypatch)
    assert before == version_of(real, monkeypatch)
    name = "mrpc/validation-00000-of-00001.parquet"
    (real / name).write_bytes((other / name).read_bytes())
    assert version_of(top, monkeypatch) == version_of(other, monkeypatch) != before
    (top / "mrpc").rename(top / "gone")
    with pytest.raises(DataError, match="there is no split train"):
        version_of(top, monkeypatch)


@pytest.mark.parametrize("place", ["../elsewhere/*.parquet", "{tmp_path}/elsewhere/*", "https://example.org/x.parquet"])
def test_a_card_that_names_files_of_other_places_is_refused(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They could change without anything of the folder changing."""
    folder, place = glue(tmp_path / "glue"), place.format(tmp_path=tmp_path)
    card = folder / "README.md"
    card.write_text(card.read_text().replace("mrpc/train-*", place))
    with pytest.raises(DataError, match=r"README\.md: it names .*, which is not in its folder"):
        version_of(folder, monkeypatch)


CELLS = ["good film", "null", "NA", "nan", "007", "1e5", "True", " spaced ", "a, comma", 'a "quote"']


@pytest.mark.parametrize("cells", [CELLS, ["007", "1.50"], ["True", "False"], ["NA", "null"]])
def test_cells_of_csv_are_the_texts_they_are(cells: list[str], tmp_path: Path) -> None:
    """From files, and from a folder that is laid out as the hub's: one trial."""
    for split in ("train", "validation"):
        with (tmp_path / f"{split}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["sentence", "label"], *([cell, i % 2] for i, cell in enumerate(cells))])
    files = [f"data.root={tmp_path}", "task.files.train=train.csv", "task.files.dev=validation.csv"]
    in_files = trial_of(composed("task=sst2", *files, "task.files.folders=[.]"))
    in_hub = trial_of(composed("task=sst2", "data.root=null", f"task.hub.path={tmp_path}", "task.hub.config=null"))
    assert source_of(in_hub.science.task, in_hub.data_at).rows("train", [0, 1]).texts == [(cells[0],), (cells[1],)]
    assert in_files.id == in_hub.id


def test_a_split_that_is_not_there(tmp_path: Path) -> None:
    folder = glue(tmp_path / "glue")
    config = composed("task=mrpc", "data.root=null", f"task.hub.path={folder}", "task.hub.dev=test")
    with pytest.raises(DataError, match=rf"{folder}: there is no split test of glue \(mrpc\)"):
        trial_of(config)


def test_a_trial_on_the_hubs_layout(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    words = tiny_words(tiny_model, "task=mrpc", "data.root=null", f"task.hub.path={glue(tmp_path / 'glue')}")
    ended = bertxfer(*words, "training.epochs=1", env={"HF_HOME": str(tmp_path / "hf")})
    assert ended.returncode == 0, ended.stderr
    (result,) = (tmp_path / "out" / "trials").glob("*/result.json")
    assert set(json.loads(result.read_text())["metrics"]) == {"mean_accuracy_f1", "accuracy", "f1"}


@pytest.mark.parametrize(
    ("words", "offline", "wanted"),
    [
        (["task=sst2", "data.root=null"], "0", "the data set nyu-mll/glue was looked for in"),
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
    endpoint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from huggingface_hub import constants

    from bertxfer.system import hub

    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    wanted = hub.Repository("model", "some/body", None, "x", "give y as z")
    started = time.monotonic()
    for _ in range(3):
        with pytest.raises(ConfigError) as refusal:
            hub.fetch(wanted, lambda names, bring: iter([names]))
        said = (
            f"x: the model some/body was looked for in the cache {tmp_path}/hub; {endpoint} did not answer within 3 s"
        )
        assert str(refusal.value) == f"{said}; give y as z"
    assert time.monotonic() - started < 4


def test_scores_of_the_hub_are_those_of_the_official_file(tmp_path: Path) -> None:
    """The hub keeps STS-B's scores in 32 bits, which have no 3.8; the official files write it in three letters."""
    scores = [0.0, 0.2, 3.8, 2.75, 1.333, 5.0]
    rows = [{"sentence1": f"one {i}", "sentence2": f"two {i}", "label": score} for i, score in enumerate(scores)]
    table = pa.Table.from_pylist(rows).cast(
        pa.schema({"sentence1": "string", "sentence2": "string", "label": "float32"})
    )
    folder = repository(tmp_path / "glue", "stsb", {"train": rows, "validation": rows})
    official = tmp_path / "STS-B"
    official.mkdir()
    for split, name in (("train", "train"), ("validation", "dev")):
        pq.write_table(table, folder / "stsb" / f"{split}-00000-of-00001.parquet")
        lines = [f"{i}\tone {i}\ttwo {i}\t{score}" for i, score in enumerate(scores)]
        (official / f"{name}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tscore", *lines]) + "\n")
    hub = trial_of(composed("task=stsb", "data.root=null", f"task.hub.path={folder}", "data.n=all"))
    files = trial_of(composed("task=stsb", f"data.root={tmp_path}", "data.n=all"))
    assert hub.id == files.id
    assert source_of(hub.science.task, hub.data_at).rows("dev", range(6)).labels == scores
