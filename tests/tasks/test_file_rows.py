"""Rows from files of every format, and files that cannot be used: one sentence that says where."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bertxfer.errors import BertxferError, ConfigError, DataError
from bertxfer.tasks import Rows, source_of
from bertxfer.trials.trial import trial_of
from tests.helpers.commands import Run, tiny_words
from tests.helpers.configs import composed

OWN = [
    "task=sst2",
    "task.name=own",
    "task.text=[review]",
    "task.label=verdict",
    "task.labels=[bad,good]",
    "task.files.folders=[.]",
    "task.hub.path=null",
]
ROWS = [{"review": 'a "fine" film', "verdict": "good"}, {"review": "dull, slow", "verdict": "bad"}]


def write(folder: Path, ending: str, rows: list[dict[str, Any]] = ROWS) -> list[str]:
    """train and dev in one format, and the words that name them."""
    folder.mkdir(exist_ok=True)
    for split in ("train", "dev"):
        path = folder / f"{split}.{ending}"
        if ending == "parquet":
            pq.write_table(pa.Table.from_pylist(rows), path)
        elif ending == "jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        else:
            tab = {"tsv": "\t", "csv": ","}[ending]
            quote = (lambda v: v) if ending == "tsv" else (lambda v: '"' + str(v).replace('"', '""') + '"')
            lines = [list(rows[0]), *([quote(v) for v in row.values()] for row in rows)]
            path.write_text("".join(tab.join(map(str, line)) + "\n" for line in lines))
    return [f"task.files.train=train.{ending}", f"task.files.dev=dev.{ending}", f"data.root={folder}"]


def read(*words: str) -> tuple[Rows, Rows]:
    trial = trial_of(composed(*OWN, *words))
    source = source_of(trial.science.task, trial.data_at)
    train, dev = (source.rows(split, range(source.size(split))) for split in ("train", "dev"))
    return train, dev


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet"])
def test_every_format_says_the_same(tmp_path: Path, ending: str) -> None:
    rows, _ = read(*write(tmp_path, ending))
    assert rows.texts == [('a "fine" film',), ("dull, slow",)]
    assert rows.labels == [1, 0]


@pytest.mark.parametrize("ending", ["tsv", "csv", "jsonl", "parquet"])
def test_labels_are_words_or_numbers(tmp_path: Path, ending: str) -> None:
    numbered = [{"review": "x", "verdict": 1}, {"review": "y", "verdict": 0}]
    assert read(*write(tmp_path, ending, numbered))[0].labels == [1, 0]
    named = [{"review": "x", "verdict": 1}, {"review": "y", "verdict": 2}]
    assert read(*write(tmp_path, ending, named), "task.labels=['2','1']")[0].labels == [1, 0]


def test_a_tsv_has_no_quoting_and_ends_rows_at_line_feeds_only(tmp_path: Path) -> None:
    words = write(tmp_path, "tsv")
    text = '\ufeffreview\tverdict\r\n"never closed\tgood\r\nline\u2028separator and \x85 next\tbad\r\n\r\nlast\tbad'
    (tmp_path / "train.tsv").write_text(text, newline="")
    assert read(*words)[0].texts == [('"never closed',), ("line\u2028separator and \x85 next",), ("last",)]


def test_a_file_without_a_header_is_told_its_columns(tmp_path: Path) -> None:
    words = write(tmp_path, "tsv")
    for split in ("train", "dev"):
        (tmp_path / f"{split}.tsv").write_text("id1\tgood\t\tIt works.\n")
    rows, _ = read(*words, "task.files.header=[source,verdict,mark,review]")
    assert (rows.texts, rows.labels) == ([("It works.",)], [1])


@pytest.mark.parametrize(
    ("ending", "content", "place", "said"),
    [
        ("tsv", "review\tverdict\nfine\tgood\nshort\n", "train.tsv, line 3", "too few cells"),
        ("tsv", "review\tverdict\nfine\tgood\textra\n", "train.tsv, line 2", "3 cells"),
        ("tsv", "review\tstars\nfine\tgood\n", "train.tsv, line 2", "needs a column 'verdict'"),
        ("tsv", "review\tverdict\nfine\tgreat\n", "train.tsv, line 2", "'great' is neither one of bad, good"),
        ("tsv", "review\tverdict\nfine\t2\n", "train.tsv, line 2", "from 0 to 1"),
        ("tsv", "review\tverdict\nfine\tgood\n \tbad\n", "train.tsv, line 3", "'review' is empty"),
        ("tsv", "review\tverdict\nfine\t\n", "train.tsv, line 2", "no label"),
        ("tsv", "review\tverdict\nfine\t-1\n", "train.tsv, line 2", "no label"),
        ("tsv", "review\tverdict\n", "train.tsv", "no row"),
        ("tsv", "", "train.tsv", "no row"),
        ("csv", 'review,verdict\nok,good\n"a\nb",great\n', "train.csv, line 4", "'great'"),
        ("csv", 'review,verdict\n"open,good\n', "train.csv, line 2", "not valid CSV"),
        ("jsonl", '{"review": "x", "verdict": 0}\n{"review": "x"\n', "train.jsonl, line 2", "not valid JSON"),
        ("jsonl", '{"review": "x", "verdict": 0}\n{"review": "x"}\n', "train.jsonl, line 2", "'verdict'"),
        ("jsonl", '{"review": null, "verdict": 0}\n', "train.jsonl, line 1", "'review'"),
        ("jsonl", '{"review": 3, "verdict": 0}\n', "train.jsonl, line 1", "not text"),
        ("jsonl", "[1]\n", "train.jsonl, line 1", "not a JSON object"),
        ("parquet", "not parquet", "train.parquet", "not a Parquet file"),
    ],
)
def test_bad_data_is_said_with_file_and_line(tmp_path: Path, ending: str, content: str, place: str, said: str) -> None:
    words = write(tmp_path, ending)
    (tmp_path / f"train.{ending}").write_text(content)
    with pytest.raises(DataError) as refusal:
        read(*words)
    assert str(refusal.value).startswith(f"{tmp_path}/{place}: "), refusal.value
    assert said in str(refusal.value) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("score", ["nan", "inf", "high", ""])
def test_a_score_is_a_finite_number(tmp_path: Path, score: str) -> None:
    words = write(tmp_path, "tsv", [{"review": "x", "verdict": 2.5}, {"review": "y", "verdict": score}])
    regression = ["task.kind=regression", "task.labels=[]", "task.metrics=[pearson]", "task.headline=pearson"]
    with pytest.raises(DataError, match=r"train\.tsv, line 3: .*not a finite number"):
        read(*words, *regression)


def test_not_utf8(tmp_path: Path) -> None:
    words = write(tmp_path, "tsv")
    (tmp_path / "dev.tsv").write_bytes("review\tverdict\ncaf\xe9\tgood\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"dev\.tsv: it is not UTF-8"):
        read(*words)


def test_broken_rows_are_left_out_where_a_task_says_so(tmp_path: Path) -> None:
    words = write(tmp_path, "tsv")
    (tmp_path / "train.tsv").write_text("review\tverdict\nfine\tgood\nshort\n\tbad\nslow\tbad\n")
    rows, _ = read(*words, "task.skip_broken=true")
    assert (rows.texts, rows.labels) == ([("fine",), ("slow",)], [1, 0])


def test_missing_files_are_told_before_torch(bertxfer: Run, tmp_path: Path) -> None:
    ended = bertxfer("task=cola", f"data.root={tmp_path}", env={"PYTHONPROFILEIMPORTTIME": "1"})
    assert ended.returncode == 2
    assert f"data.root: task=cola needs {tmp_path}/glue/CoLA/train.tsv or {tmp_path}/CoLA/train.tsv" in ended.stderr
    assert "| torch\n" not in ended.stderr


def test_the_folder_of_a_task_may_stand_under_glue_or_at_the_root(tmp_path: Path) -> None:
    ids = []
    for folder in (tmp_path / "one" / "glue" / "SST-2", tmp_path / "two" / "SST-2"):
        folder.mkdir(parents=True)
        for split in ("train", "dev"):
            (folder / f"{split}.tsv").write_text("sentence\tlabel\nfine \t1\n")
        ids.append(trial_of(composed("task=sst2", f"data.root={tmp_path / folder.relative_to(tmp_path).parts[0]}")).id)
    assert ids[0] == ids[1]  # where data lies is not part of an id,
    (folder / "dev.tsv").write_text("sentence\tlabel\nfine \t0\n")
    assert trial_of(composed("task=sst2", f"data.root={tmp_path / 'two'}")).id != ids[0]  # what it says is


def test_files_that_change_under_a_frozen_trial_change_nothing_of_it(tmp_path: Path) -> None:
    words = write(tmp_path, "tsv")
    trial = trial_of(composed(*OWN, *words))
    with (tmp_path / "dev.tsv").open("a") as file:
        file.write("more\tgood\n")
    assert source_of(trial.science.task, trial.data_at).size("dev") == len(ROWS)
    edited = trial_of(composed(*OWN, *words))
    assert edited.id != trial.id and source_of(edited.science.task, edited.data_at).size("dev") == len(ROWS) + 1


def test_the_same_rows_are_the_same_trial_in_every_form(tmp_path: Path) -> None:
    ids = {
        trial_of(composed(*OWN, *write(tmp_path / ending, ending))).id for ending in ("tsv", "csv", "jsonl", "parquet")
    }
    other_names = [{"text": row["review"], "stars": row["verdict"]} for row in ROWS]
    columns = ["+task.files.columns.review=text", "+task.files.columns.verdict=stars"]
    ids.add(trial_of(composed(*OWN, *write(tmp_path / "named", "csv", other_names), *columns)).id)
    words = write(tmp_path / "marked", "csv")
    for split in ("train", "dev"):
        path = tmp_path / "marked" / f"{split}.csv"
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    ids.add(trial_of(composed(*OWN, *words)).id)
    numbered = [{"review": row["review"], "verdict": int(row["verdict"] == "good")} for row in ROWS]
    ids.add(trial_of(composed(*OWN, *write(tmp_path / "numbered", "tsv", numbered))).id)
    assert len(ids) == 1
    in_another_order = trial_of(composed(*OWN, *write(tmp_path / "turned", "csv", ROWS[::-1]))).id
    assert in_another_order not in ids


def test_rows_that_were_damaged_on_the_shelf_are_refused(tmp_path: Path) -> None:
    trial = trial_of(composed(*OWN, *write(tmp_path, "tsv", [{"review": "only here", "verdict": "good"}])))
    shelved = Path(str(trial.data_at))
    table = pq.read_table(shelved)
    pq.write_table(table.set_column(table.column_names.index("label"), "label", pa.array([0, 1])), shelved)
    with pytest.raises(DataError, match=f"{shelved}: it is damaged"):
        source_of(trial.science.task, trial.data_at)
    shelved.unlink()
    with pytest.raises(DataError, match="the rows of task=own are not there"):
        source_of(trial.science.task, trial.data_at)
    again = trial_of(composed(*OWN, *write(tmp_path, "tsv", [{"review": "only here", "verdict": "good"}])))
    assert again.id == trial.id and source_of(again.science.task, again.data_at).size("train") == 1


@pytest.mark.parametrize(
    ("words", "key"),
    [
        ("task.files.train=null", "task.files.train"),
        ("task.files.dev=null", "task.files.dev"),
        ("task.files.train=train.xlsx", "task.files"),
        ("task.labels=[bad]", "task.labels"),
        ("task.labels=[bad,bad]", "task.labels"),
        ("task.text=[]", "task.text"),
        ("task.metrics=[pearson]", "task.metrics"),
        ("task.metrics=[f1,accuracy] task.labels=[a,b,c]", "task.metrics"),
        ("task.kind=ranking", "task.kind"),
        ("task.kind=span task.metrics=[f1] task.headline=f1", "task.text"),
    ],
)
def test_a_task_that_cannot_be(tmp_path: Path, words: str, key: str) -> None:
    (tmp_path / "train.xlsx").touch()
    with pytest.raises(ConfigError) as refusal:
        trial_of(composed(*OWN, *write(tmp_path, "tsv"), *words.split()))
    assert refusal.value.key == key


TASK_FILE = """
name: reviews
text: [review]
label: verdict
labels: [bad, good]
metrics: [accuracy, f1]
headline: accuracy
files: {train: reviews_train.csv, dev: reviews_dev.csv}
"""


def test_a_task_of_ones_own_is_one_yaml_file(bertxfer: Run, tiny_model: Path, tmp_path: Path) -> None:
    (tmp_path / "my" / "task").mkdir(parents=True)
    (tmp_path / "my" / "task" / "reviews.yaml").write_text(TASK_FILE)
    rows = "".join(f'"the film, number {i}, is fine",{("bad", "good")[i % 2]}\n' for i in range(40))
    (tmp_path / "reviews_train.csv").write_text("review,verdict\n" + rows)
    (tmp_path / "reviews_dev.csv").write_text("review,verdict\n" + rows + "so so,0\n")
    words = [*tiny_words(tiny_model, "task=reviews", "training.epochs=1"), "--config-dir", str(tmp_path / "my")]
    ended = bertxfer(*words)
    assert ended.returncode == 0, ended.stderr
    (result,) = (tmp_path / "out" / "trials").glob("*/result.json")
    found = json.loads(result.read_text())
    assert (found["task"], found["n_train"], found["n_dev"]) == ("reviews", 24, 41)
    assert len(list((tmp_path / "out" / "artifacts" / "tokens").glob("*/*.arrow"))) == 2

    (tmp_path / "reviews_dev.csv").write_text("review,verdict\nso so,medium\n")
    ended = bertxfer(*words, env={"BERTXFER_OUTPUT": str(tmp_path / "other")})
    assert ended.returncode == 1
    assert f"{tmp_path}/reviews_dev.csv, line 2: the label 'medium' is neither one of bad, good" in ended.stderr
    assert not (tmp_path / "other" / "artifacts").exists()


def test_the_size_that_counts_is_that_of_the_files(tmp_path: Path) -> None:
    from bertxfer.learning import data

    words = write(tmp_path, "tsv")
    trial = trial_of(composed(*OWN, *words, "data.n=3"))
    with pytest.raises(BertxferError, match="3 is more than the 2 training rows"):
        data.subsample(trial.science, source_of(trial.science.task, trial.data_at).size("train"))


def test_labels_that_yaml_takes_for_truth_values_are_told_apart_from_typos(tmp_path: Path) -> None:
    words = write(tmp_path, "csv", [{"review": "x", "verdict": "yes"}, {"review": "y", "verdict": "no"}])
    with pytest.raises(DataError, match=r"'yes' is neither one of False, True .*: quote them in task\.labels"):
        read(*words, "task.labels=[false,true]")
    assert read(*words, "task.labels=['no','yes']")[0].labels == [1, 0]
