import re
import subprocess
import sys

import pytest

from bertxfer.tasks.mini import agreement
from bertxfer.tasks.mini.language import SIZES, TASKS, Example, example, passage
from bertxfer.tasks.mini.lexicon import LEXICONS, Lexicon, kinds, vocabulary


def content_words(lexicon: Lexicon) -> set[str]:
    return {
        word
        for words in vars(lexicon).values()
        for entry in words
        for word in ([entry] if isinstance(entry, str) else entry)
    }


def texts(task: str, split: str, count: int) -> list[str]:
    examples = (example(task, split, i) for i in range(count))
    return [f"{e.text_a} | {e.text_b}" if e.text_b else e.text_a for e in examples]


def test_vocabulary_is_unique_whole_words_with_special_tokens_first() -> None:
    words = vocabulary()
    assert words[:5] == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert len(words) == len(set(words)) and 500 <= len(words) <= 700
    assert all(re.fullmatch(r"[a-z]+|[.,?]", word) for word in words[5:])


def test_every_word_occurs_in_pretraining_and_every_pretraining_word_is_known() -> None:
    used = {word for i in range(60_000) for segment in passage(i) for word in segment.split()}
    assert used == set(vocabulary()[5:])


def test_passages_have_one_or_two_segments() -> None:
    assert {len(passage(i)) for i in range(200)} == {1, 2}


@pytest.mark.parametrize("task", TASKS)
def test_sizes_bound_the_index(task: str) -> None:
    assert SIZES[task] == {"train": 60_000, "dev": 1_000}
    for split, size in SIZES[task].items():
        example(task, split, size - 1)
        with pytest.raises(IndexError, match=f"{task} has {size} {split}"):
            example(task, split, size)
        with pytest.raises(IndexError):
            example(task, split, -1)


@pytest.mark.parametrize("task", TASKS)
def test_dev_shares_no_content_word_with_train(task: str) -> None:
    train, dev = content_words(LEXICONS["train"]), content_words(LEXICONS["dev"])
    assert not train & dev
    for split, own, foreign in (("train", train, dev), ("dev", dev, train)):
        for text in texts(task, split, 1_000):
            words = set(text.split())
            assert words & own and not words & foreign


@pytest.mark.parametrize("task", TASKS)
def test_no_dev_text_is_in_train(task: str) -> None:
    assert not set(texts(task, "dev", SIZES[task]["dev"])) & set(texts(task, "train", SIZES[task]["train"]))


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("split", ["train", "dev"])
def test_labels_are_balanced_and_words_are_known(task: str, split: str) -> None:
    known = set(vocabulary())
    examples = [example(task, split, i) for i in range(1_000)]
    assert 0.45 < sum(e.label for e in examples) / len(examples) < 0.55
    assert all((e.text_b is not None) == (task == "mini_qnli") for e in examples)
    assert all(set(f"{e.text_a} {e.text_b or ''}".split()) <= known for e in examples)


@pytest.mark.parametrize("task", TASKS)
def test_no_function_word_gives_the_label_away(task: str) -> None:
    examples = [example(task, "train", i) for i in range(10_000)]
    for word in kinds()["function"]:
        labels = [e.label for e in examples if word in f"{e.text_a} {e.text_b or ''}".split()]
        # "itself" and "themselves" are right or wrong with their verb, so they lean a little
        assert len(labels) < 100 or 0.35 < sum(labels) / len(labels) < 0.65, word


def test_a_bad_sentence_differs_from_a_good_one_in_one_word() -> None:
    slots: list[agreement.Slot] = ["the", "wug", ("runs", "run"), ("itself", "themselves"), "."]
    assert agreement.words(slots) == "the wug runs itself ."
    assert agreement.words(slots, 2) == "the wug run itself ."


@pytest.mark.parametrize(
    ("task", "split", "index", "expected"),
    [
        ("mini_sst2", "train", 4, Example(text_a="everyone horbels that brickun .", text_b=None, label=1)),
        (
            "mini_sst2",
            "dev",
            9,
            Example(
                text_a="although the vurbock is hardly snimpent , many vurbocks are blantent .", text_b=None, label=0
            ),
        ),
        (
            "mini_qnli",
            "train",
            0,
            Example(
                text_a="who plovles the brorpocks ?",
                text_b="brurmi snekles the brorpocks and sluti plovles the glutun .",
                label=1,
            ),
        ),
        (
            "mini_qnli",
            "dev",
            5,
            Example(text_a="who snendles the glostun ?", text_b="brofo bleskly flimples the glostun .", label=1),
        ),
        (
            "mini_cola",
            "train",
            1,
            Example(text_a="the kruntun beside this blumbops tustles the gulets .", text_b=None, label=0),
        ),
        (
            "mini_cola",
            "dev",
            4,
            Example(
                text_a="the glostun above the klepets behind the klepet rackows and hibbows vaddly .",
                text_b=None,
                label=1,
            ),
        ),
    ],
)
def test_examples_never_change(task: str, split: str, index: int, expected: Example) -> None:
    assert example(task, split, index) == expected


def test_same_text_in_another_process() -> None:
    code = "from bertxfer.tasks.mini.language import *; print(passage(7), [example(t, 'dev', 7) for t in TASKS])"
    here = f"{passage(7)} {[example(task, 'dev', 7) for task in TASKS]}\n"
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert there == here


def test_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, bertxfer.tasks.mini.language; assert not {'torch', 'numpy', 'transformers'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
