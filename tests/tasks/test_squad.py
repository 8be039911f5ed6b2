"""Questions in SQuAD's JSON: what is read, what is refused, and windows that lead back to the passage."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from bertxfer.errors import ConfigError, DataError
from bertxfer.learning.data import answer_tokens
from bertxfer.learning.tokens import Tokenizing
from bertxfer.tasks import Answers, source_of
from bertxfer.trials.trial import trial_of
from tests.helpers.configs import composed
from tests.helpers.officialdata import PASSAGE, SQUAD

WORDS = ["task=squad2", "task.span.question_length=20"]


def write(folder: Path, train: Any = SQUAD, dev: Any = SQUAD) -> Path:
    (folder / "squad2").mkdir(exist_ok=True)
    for split, content in (("train", train), ("dev", dev)):
        (folder / "squad2" / f"{split}-v2.0.json").write_text(json.dumps(content))
    return folder


def read(root: Path) -> Any:
    trial = trial_of(composed(*WORDS, f"data.root={root}"))
    return source_of(trial.science.task, trial.data_at)


def test_questions_with_and_without_answers(tmp_path: Path) -> None:
    rows = read(write(tmp_path)).rows("train", [0, 1])
    assert rows.texts == [("Who wrote the first program?", PASSAGE), (" Who drew it? ", PASSAGE)]
    assert rows.labels == [Answers("q1", ("Ada Lovelace", "Lovelace"), (0, 4)), Answers("q2", (), ())]


def bad(path: str, value: Any) -> Any:
    """The data with the value at a path of keys replaced, or without it."""
    content = copy.deepcopy(SQUAD)
    node = content["data"][0]["paragraphs"][0]
    *keys, last = [int(word) if word.isdigit() else word for word in path.split(".")]
    for key in keys:
        node = node[key]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return content


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (bad("qas.0.answers.0.answer_start", 1), "qas[0]: the answer 'Ada Lovelace' is not at character 1"),
        (bad("qas.0.answers.0.answer_start", None), "qas[0]: what comes next is not as in SQuAD's JSON"),
        (bad("qas.1.question", "  "), "qas[1]: the question is empty"),
        (bad("qas.1.question", None), "qas[1]: what comes next"),
        (bad("qas.1.id", "q1"), "qas[1]: the id q1 occurs twice"),
        (bad("qas.1.is_impossible", False), "qas[1]: the question has no answers and is not marked is_impossible"),
        (bad("context", ""), "qas[0]: the passage is empty"),
        ({"data": []}, "it has no questions"),
        ([], "what comes next"),
    ],
)
def test_bad_questions_are_said_with_their_place(tmp_path: Path, content: Any, said: str) -> None:
    with pytest.raises(DataError) as refusal:
        read(write(tmp_path, dev=content))
    assert str(refusal.value).startswith(f"{tmp_path}/squad2/dev-v2.0.json")
    assert said in str(refusal.value)


def test_what_is_no_json(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "squad2" / "train-v2.0.json").write_text('{"data": [\n  {"title" 3}]}')
    with pytest.raises(DataError, match=r"train-v2\.0\.json, line 2: this is not valid JSON"):
        read(tmp_path)


def test_a_stride_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(ConfigError, match="60 leaves no new tokens"):
        trial_of(composed(*WORDS, "data.root=null", "data.max_length=84", "data.stride=60"))


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    """Word pieces of single letters: every character is a token, so that windows are many and offsets exact."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [chr(c) for c in range(33, 127)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{letter}" for letter in letters)]
    made = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    return PreTrainedTokenizerFast(tokenizer_object=made, **names)


def test_windows_cover_the_passage_and_lead_back_to_it(tokenizer: Any) -> None:
    how = Tokenizing(tokenizer, True, max_length=40, stride=8, question_length=10)
    long_question = "Who on earth was it that wrote this?"
    made = how([("Who?", PASSAGE), (long_question, "short")])
    rows = [row for (row,) in made["row"]]
    assert rows == sorted(rows) and rows.count(0) > 2 and rows.count(1) == 1
    covered: set[int] = set()
    for ids, starts, ends, row in zip(made["input_ids"], made["starts"], made["ends"], rows, strict=True):
        assert len(ids) == len(starts) == len(ends) <= 40
        assert starts[0] == ends[0] == -1  # [CLS], where no answer is
        if row == 0:
            inside = [(s, e) for s, e in zip(starts, ends, strict=True) if s >= 0]
            assert len(covered & {s for s, _ in inside}) in (0, 8)  # what windows share
            covered |= {s for s, _ in inside}
            letters = tokenizer.convert_ids_to_tokens(ids)[-1 - len(inside) : -1]
            for (s, e), letter in zip(inside, letters, strict=True):
                plain = PASSAGE[s:e].lower().replace("é", "e")
                assert letter.removeprefix("##") == plain
    assert covered == {i for i, letter in enumerate(PASSAGE) if letter != " "}
    cut = tokenizer.convert_ids_to_tokens(made["input_ids"][-1])
    assert cut.index("[SEP]") == 1 + 10


@pytest.mark.parametrize("answer", ["Ada Lovelace", "first", "Café au lait", "someone else", "."])
def test_the_tokens_of_an_answer_give_its_text_back(tokenizer: Any, answer: str) -> None:
    how = Tokenizing(tokenizer, True, max_length=40, stride=16, question_length=10)
    made = how([("Who?", PASSAGE)])
    begin = PASSAGE.index(answer)
    found = 0
    for starts, ends in zip(made["starts"], made["ends"], strict=True):
        first, last = answer_tokens(Answers("q", (answer,), (begin,)), starts, ends)
        whole = begin in starts and begin + len(answer) in ends
        assert (first, last) != (0, 0) if whole else (first, last) == (0, 0)
        if whole:
            assert PASSAGE[starts[first] : ends[last]] == answer
            found += 1
    assert found >= 1
    assert answer_tokens(Answers("q", (), ()), made["starts"][0], made["ends"][0]) == (0, 0)
