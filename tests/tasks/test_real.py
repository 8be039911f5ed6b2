"""The papers' tasks on real data, where it is at hand; QQP and MNLI on small files in their official layout."""

import json
import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bertxfer.learning import run as learning
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.tasks import Source, source_of
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed
from tests.helpers.models import saved

DATA = Path(os.environ.get("BERTXFER_DATA") or Path(__file__).parents[3] / "shared" / "data")
real = pytest.mark.skipif(not (DATA / "glue").is_dir(), reason="no real data: set BERTXFER_DATA")


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One layer is enough to see rows go all the way; real dev sets have thousands."""
    from transformers import BertConfig, BertModel

    shape = BertConfig(vocab_size=700, hidden_size=12, num_hidden_layers=1, num_attention_heads=1, intermediate_size=12)
    return saved(BertModel, shape, tmp_path_factory.mktemp("small") / "small")


def source(task: str, root: Path = DATA) -> Source:
    made = trial_of(composed(f"task={task}", f"data.root={root}", "model=minilm"))
    return source_of(made.science.task, made.data_at)


def run(out: Path, *words: str) -> Result:
    made = composed(*words, "runtime.device=cpu", "runtime.threads=1")
    return learning.run(trial_of(made), Store(out), made.runtime)


# rows of train and dev, and of the first class in dev as counted with grep
SIZES = {
    "cola": (8551, 1043, 322),
    "sst2": (67349, 872, 428),
    "mrpc": (3668, 408, 129),
    "rte": (2490, 277, 146),
    "wnli": (635, 71, 40),
    "qnli": (9999, 5463, 2702),
}


@real
@pytest.mark.parametrize("task", SIZES)
def test_rows_and_balance(task: str) -> None:
    train, dev, first = SIZES[task]
    rows = source(task)
    assert (rows.size("train"), rows.size("dev")) == (train, dev)
    assert Counter(rows.rows("dev", range(dev)).labels)[0] == first


@real
def test_scores_of_stsb() -> None:
    rows = source("stsb")
    assert (rows.size("train"), rows.size("dev")) == (5749, 1500)
    labels = rows.rows("train", range(5749)).labels
    assert (min(labels), max(labels)) == (0.0, 5.0)
    assert rows.rows("train", [1]).texts == [("A man is playing a large flute.", "A man is playing a flute.")]
    assert rows.rows("train", [1]).labels == [3.8]


@real
def test_questions_of_squad() -> None:
    rows = source("squad2")
    for split, size, share in (("train", 13669, 0.26), ("dev", 6078, 0.52)):
        labels = rows.rows(split, range(rows.size(split))).labels
        assert len(labels) == size
        assert sum(not label.texts for label in labels) / size == pytest.approx(share, abs=0.006)


@real
@pytest.mark.parametrize("task", [*SIZES, "stsb", "squad2"])
def test_every_task_is_trained_and_evaluated(task: str, small_model: Path, tmp_path: Path) -> None:
    words = [f"task={task}", f"model.name={small_model}", f"data.root={DATA}", "data.n=16", "training.epochs=1"]
    if task == "squad2":
        words += ["data.max_length=192", "data.stride=32"]
    result = run(tmp_path, *words)
    assert (result["n_train"], result["n_dev"]) == (16, source(task).size("dev"))
    assert result["steps"] >= 2
    assert set(result["metrics"]) == set(composed(*words).task.metrics)
    assert result["score"] == result["metrics"][composed(*words).task.headline]
    predictions = pq.read_table(tmp_path / "trials" / result["id"] / "predictions.parquet")
    assert predictions["index"].to_pylist() == list(range(result["n_dev"]))
    if task == "squad2":
        assert predictions.num_rows == 6078 and predictions["prediction"].type == "string"
        assert predictions["f1"].to_pandas().mean() == pytest.approx(result["metrics"]["f1"])


QQP = "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n"
MNLI = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse"
)


def test_qqp_in_its_official_layout(small_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "QQP"
    folder.mkdir()
    rows = [f'{i}\t{i}\t{i}\tWhat is "{i}"?\tWhich one is {i}?\t{i % 2}\n' for i in range(20)]
    (folder / "train.tsv").write_text(QQP + "".join(rows) + "20\t20\t20\tcut off here\n")
    (folder / "dev.tsv").write_text(QQP + "".join(rows[:7]))
    result = run(tmp_path, "task=qqp", f"model.name={small_model}", f"data.root={tmp_path}", "training.epochs=1")
    assert (result["n_train"], result["n_dev"]) == (20, 7)
    assert set(result["metrics"]) == {"mean_accuracy_f1", "accuracy", "f1"}
    assert source("qqp", tmp_path).rows("train", [3]).texts == [('What is "3"?', "Which one is 3?")]


@pytest.mark.parametrize(("task", "size"), [("mnli", 4), ("mnli_mismatched", 6)])
def test_mnli_in_its_official_layout(task: str, size: int, small_model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "glue" / "MNLI"
    folder.mkdir(parents=True)
    words = ["entailment", "neutral", "contradiction"]

    def row(i: int, label_columns: int) -> str:
        given = "\t".join([words[(i + 1) % 3]] * label_columns)
        return (
            f"{i}\tp\tp\tfiction\t( a )\t( b )\t(ROOT a)\t(ROOT b)\tPremise {i}.\tGuess {i}.\t{given}\t{words[i % 3]}\n"
        )

    texts = "\tsentence1\tsentence2\t"
    (folder / "train.tsv").write_text(
        f"{MNLI}{texts}label1\tgold_label\n" + "".join(row(i, 1) for i in range(12)), encoding="utf-8"
    )
    for name, count in (("dev_matched", 4), ("dev_mismatched", 6)):
        header = f"{MNLI}{texts}" + "\t".join(f"label{i}" for i in range(1, 6)) + "\tgold_label\n"
        (folder / f"{name}.tsv").write_text(header + "".join(row(i, 5) for i in range(count)))
    result = run(tmp_path, f"task={task}", f"model.name={small_model}", f"data.root={tmp_path}", "training.epochs=1")
    assert (result["n_train"], result["n_dev"]) == (12, size)
    rows = source(task, tmp_path).rows("dev", [1, 2])
    assert (rows.texts, rows.labels) == ([("Premise 1.", "Guess 1."), ("Premise 2.", "Guess 2.")], [1, 2])


@real
def test_minilm_fits_32_questions(tmp_path: Path) -> None:
    """Head, windows, spans and scoring fit together: what was trained on is answered, or rightly not."""
    whole = json.loads((DATA / "squad2" / "train-v2.0.json").read_text())
    paragraphs = [p for article in whole["data"] for p in article["paragraphs"] if 150 < len(p["context"]) < 300]
    chosen, left = [], {False: 20, True: 12}
    for paragraph in paragraphs:
        kept = []
        for question in paragraph["qas"]:
            if len(kept) < 2 and left[question["is_impossible"]]:
                left[question["is_impossible"]] -= 1
                kept.append(question)
        if kept:
            chosen.append({"context": paragraph["context"], "qas": kept})
    (tmp_path / "squad2").mkdir()
    for split in ("train", "dev"):
        content = {"data": [{"title": "", "paragraphs": chosen}]}
        (tmp_path / "squad2" / f"{split}-v2.0.json").write_text(json.dumps(content))
    result = run(
        tmp_path,
        "model=minilm",
        "task=squad2",
        f"data.root={tmp_path}",
        "data.max_length=72",
        "data.stride=16",
        "task.span.question_length=24",
        "training.epochs=12",
        "training.batch_size=8",
        "training.warmup=0.1",
        "optimizer.lr=5e-4",
        "model.dropout=0",
    )
    assert (result["n_train"], result["n_dev"]) == (32, 32)
    assert result["steps"] > 12 * 32 / 8  # more windows than questions
    assert result["metrics"]["exact_match"] > 0.8
    assert result["metrics"]["exact_match_answerable"] > 0.6
