"""Small files in the official layouts of GLUE and SQuAD, for tests that want every task and no real data."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

ROWS = {"train": 60, "dev": 40}
# A file of SQuAD that can be read at a glance: a question with two answers, and one with none.
PASSAGE = "Ada Lovelace wrote the first program. Café au lait was invented elsewhere, by someone else."
SQUAD: dict[str, Any] = {
    "version": "v2.0",
    "data": [
        {
            "title": "Ada",
            "paragraphs": [
                {
                    "context": PASSAGE,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Who wrote the first program?",
                            "is_impossible": False,
                            "answers": [
                                {"text": "Ada Lovelace", "answer_start": 0},
                                {"text": "Lovelace", "answer_start": 4},
                            ],
                        },
                        {
                            "id": "q2",
                            "question": " Who drew it? ",
                            "is_impossible": True,
                            "answers": [],
                            "plausible_answers": [{"text": "Ada", "answer_start": 0}],
                        },
                    ],
                }
            ],
        }
    ],
}


def write_official(root: Path) -> Path:
    """Every task of conf/task/ that is not of the mini language, in words of that language."""
    random = Random(0)
    text = speaker(random)
    yes_no = ("entailment", "not_entailment")
    tables: dict[str, tuple[Sequence[str], Callable[[int], Sequence[object]]]] = {
        "CoLA": ([], lambda i: ("s", i % 2, "", text())),
        "SST-2": (["sentence", "label"], lambda i: (text(), i % 2)),
        "QNLI": (["index", "question", "sentence", "label"], lambda i: (i, text(), text(), yes_no[i % 2])),
        "RTE": (["index", "sentence1", "sentence2", "label"], lambda i: (i, text(), text(), yes_no[i % 2])),
        "WNLI": (["index", "sentence1", "sentence2", "label"], lambda i: (i, text(), text(), i % 2)),
        "MRPC": (["Quality", "#1 ID", "#2 ID", "#1 String", "#2 String"], lambda i: (i % 2, i, i, text(), text())),
        "STS-B": (["index", "sentence1", "sentence2", "score"], lambda i: (i, text(), text(), i % 11 / 2)),
        "QQP": (["id", "question1", "question2", "is_duplicate"], lambda i: (i, text(), text(), i % 2)),
        "MNLI": (
            ["index", "sentence1", "sentence2", "gold_label"],
            lambda i: (i, text(), text(), ("entailment", "neutral", "contradiction")[i % 3]),
        ),
    }
    for name, (header, row) in tables.items():
        for split, count in ROWS.items():
            lines = [header] if header else []
            lines += [row(i) for i in range(count)]
            file = f"{split}_matched.tsv" if (name, split) == ("MNLI", "dev") else f"{split}.tsv"
            _write(root / "glue" / name / file, "".join("\t".join(map(str, line)) + "\n" for line in lines))
    for split, count in ROWS.items():
        _write(root / "squad2" / f"{split}-v2.0.json", json.dumps(_squad(count, text)))
    return root


def _squad(count: int, text: Callable[[], str]) -> dict[str, object]:
    passage = " ".join(text() for _ in range(3))
    word = passage.split()[2]
    answer = {"text": word, "answer_start": passage.index(f" {word}") + 1}
    questions = [
        {"id": f"q{i}", "question": text(), "is_impossible": i % 2 == 1, "answers": [] if i % 2 else [answer]}
        for i in range(count)
    ]
    return {"version": "v2.0", "data": [{"title": "t", "paragraphs": [{"context": passage, "qas": questions}]}]}


def speaker(random: Random) -> Callable[[], str]:
    """Says six words of the mini language each time."""
    from bertxfer.tasks.mini import lexicon

    words = [word for word in lexicon.vocabulary() if word.isalpha()]
    return lambda: " ".join(random.choices(words, k=6))


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
