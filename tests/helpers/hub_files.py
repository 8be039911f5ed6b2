"""What the loopback hub serves: a tiny BERT, and data sets laid out as nyu-mll/glue and rajpurkar/squad_v2 are."""

import io
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.helpers.officialdata import speaker

ROWS = {"train": 40, "validation": 20}
# Text columns and the names of the labels (none: a score), by config.
GLUE: dict[str, tuple[Sequence[str], Sequence[str]]] = {
    "cola": (["sentence"], ["unacceptable", "acceptable"]),
    "mnli": (["premise", "hypothesis"], ["entailment", "neutral", "contradiction"]),
    "mrpc": (["sentence1", "sentence2"], ["not_equivalent", "equivalent"]),
    "qnli": (["question", "sentence"], ["entailment", "not_entailment"]),
    "qqp": (["question1", "question2"], ["not_duplicate", "duplicate"]),
    "rte": (["sentence1", "sentence2"], ["entailment", "not_entailment"]),
    "sst2": (["sentence"], ["negative", "positive"]),
    "stsb": (["sentence1", "sentence2"], []),
    "wnli": (["sentence1", "sentence2"], ["not_entailment", "entailment"]),
}

Splits = Mapping[str, list[dict[str, Any]]]


def tiny_bert_files(seed: int = 0, layers: int = 2) -> dict[str, bytes]:
    """Two layers and two heads of width 8, random weights, the mini language's word pieces, and a card."""
    from tests.helpers.families import small

    with tempfile.TemporaryDirectory() as folder:
        saved = small("bert", Path(folder), layers, heads=2, width=16, seed=seed)
        files = {path.name: path.read_bytes() for path in saved.iterdir()}
    return {**files, "README.md": b"---\nlicense: apache-2.0\n---\nA tiny BERT.\n"}


def glue_like_rows(config: str, rows: Mapping[str, int] = ROWS, seed: int = 0) -> Splits:
    """The rows of a config by split: words of the mini language. The labels of the test set are hidden, as GLUE's."""
    texts, labels = GLUE[config]
    splits = {"train": rows["train"]}
    for name in ("validation", "test"):
        for split in (f"{name}_matched", f"{name}_mismatched") if config == "mnli" else (name,):
            splits[split] = rows.get(name, 5)
    say = speaker(Random(f"{config} {seed}"))
    return {
        split: [
            {
                **{column: say() for column in texts},
                "label": _label(i, labels, hidden=split.startswith("test")),
                "idx": i,
            }
            for i in range(count)
        ]
        for split, count in splits.items()
    }


def glue_like_files(
    rows: Mapping[str, int] = ROWS, seed: int = 0, configs: Sequence[str] = ("sst2", "mrpc", "stsb", "mnli")
) -> dict[str, bytes]:
    made = {config: (_glue_features(config), glue_like_rows(config, rows, seed)) for config in configs}
    return data_set_files(made)


def squad_like_rows(rows: Mapping[str, int] = ROWS, seed: int = 0) -> Splits:
    """Every second question has no answer."""
    say = speaker(Random(seed))
    return {split: [_question(i, f"{split}{i}", say) for i in range(rows[split])] for split in ("train", "validation")}


def squad_like_files(rows: Mapping[str, int] = ROWS, seed: int = 0) -> dict[str, bytes]:
    texts = [{"name": name, "dtype": "string"} for name in ("id", "title", "context", "question")]
    answer = [{"name": "text", "dtype": "string"}, {"name": "answer_start", "dtype": "int32"}]
    features = [*texts, {"name": "answers", "sequence": answer}]
    return data_set_files({"squad_v2": (features, squad_like_rows(rows, seed))})


def data_set_files(configs: Mapping[str, tuple[list[dict[str, Any]], Splits]]) -> dict[str, bytes]:
    """Parquet in a folder for each config, and a card that says where it is and what is in it."""
    files: dict[str, bytes] = {}
    infos, places = [], []
    for config, (features, splits) in configs.items():
        told = []
        for split, rows in splits.items():
            buffer = io.BytesIO()
            pq.write_table(_table(rows), buffer)
            files[f"{config}/{split}-00000-of-00001.parquet"] = buffer.getvalue()
            told.append({"name": split, "num_bytes": len(buffer.getvalue()), "num_examples": len(rows)})
        infos.append({"config_name": config, "features": features, "splits": told})
        data_files = [{"split": split, "path": f"{config}/{split}-*"} for split in splits]
        places.append({"config_name": config, "data_files": data_files})
    card = yaml.safe_dump({"license": "other", "dataset_info": infos, "configs": places}, sort_keys=False)
    return {**files, "README.md": f"---\n{card}---\nMade by a test.\n".encode(), ".gitattributes": b""}


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    """With the hub's column types: a score of 3.8 is a 32-bit number there, and so not the 3.8 of a TSV file."""
    table = pa.Table.from_pylist(rows)
    schema = table.schema
    for column, kind in (("idx", pa.int32()), ("label", pa.float32())):
        at = schema.get_field_index(column)
        if at >= 0 and (column == "idx" or schema.types[at] == pa.float64()):
            schema = schema.set(at, pa.field(column, kind))
    return table.cast(schema)


def _label(number: int, labels: Sequence[str], hidden: bool) -> int | float:
    if not labels:
        return -1.0 if hidden else number % 26 / 5
    return -1 if hidden else number % len(labels)


def _glue_features(config: str) -> list[dict[str, Any]]:
    texts, labels = GLUE[config]
    names = {"class_label": {"names": {str(i): name for i, name in enumerate(labels)}}}
    return [
        *({"name": column, "dtype": "string"} for column in texts),
        {"name": "label", "dtype": names if labels else "float32"},
        {"name": "idx", "dtype": "int32"},
    ]


def _question(number: int, name: str, say: Callable[[], str]) -> dict[str, Any]:
    passage = f"{say()} {say()}"
    word = passage.split()[number % 5 + 1]
    start = passage.index(f" {word}") + 1
    answers = {"text": [word], "answer_start": [start]} if number % 2 == 0 else {"text": [], "answer_start": []}
    return {"id": name, "title": "t", "context": passage, "question": say(), "answers": answers}
