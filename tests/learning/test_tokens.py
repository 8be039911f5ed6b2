"""The cache of tokens: kept by content, shared, and never trusted when damaged."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bertxfer.learning import encoders, tokens
from bertxfer.learning.tokens import Tokenizing, tokenized
from bertxfer.trials import model_files
from tests.helpers.commands import environment

TEXTS = [("the cat",), ("a dog runs .",), ("it",)]


@pytest.fixture
def how(tiny_model: Path) -> Tokenizing:
    return Tokenizing(encoders.tokenizer(str(tiny_model), model_files.version(tiny_model)), True, 16)


def counting(how: Tokenizing, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    made = Tokenizing.parts

    def call(self: Tokenizing, texts: tokens.Texts) -> Any:
        calls.append(len(texts))
        return made(self, texts)

    monkeypatch.setattr(Tokenizing, "parts", call)
    return calls


def test_made_once_and_the_same_when_read(how: Tokenizing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = counting(how, monkeypatch)
    first = tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).to_pydict()
    tokens._mapped.cache_clear()  # as another process
    assert tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).to_pydict() == first == how(TEXTS)
    assert len(calls) == 2  # once for the cache, once by this test


@pytest.mark.parametrize("stride", [None, 2])
def test_cut_into_parts_they_are_the_same(
    how: Tokenizing, stride: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [("it runs", f"the cat {'and a dog ' * length}.") for length in (1, 3, 2, 5, 1)]
    how = Tokenizing(how.tokenizer, True, 12, stride, 4 if stride else None)
    whole = how(texts)
    monkeypatch.setattr(tokens, "PART", 2)
    assert tokenized(lambda: texts, how, tmp_path / "tokens").to_pydict() == whole == how(texts)
    if stride:
        rows = [row for (row,) in whole["row"]]
        assert rows == sorted(rows) and set(rows) == {0, 1, 2, 3, 4} and len(rows) > 5


def test_kept_by_texts_tokenizer_and_length(how: Tokenizing, tiny_model: Path) -> None:
    keys = {how.key(TEXTS)}
    keys.add(how.key(TEXTS[::-1]))
    keys.add(how.key([("the", "cat"), *TEXTS[1:]]))
    keys.add(Tokenizing(how.tokenizer, True, 15).key(TEXTS))
    keys.add(Tokenizing(how.tokenizer, False, 16).key(TEXTS))
    keys.add(Tokenizing(how.tokenizer, True, 16, 4, 5).key(TEXTS))
    other = encoders.AutoTokenizer.from_pretrained(tiny_model)
    other.add_tokens(["cat"])
    keys.add(Tokenizing(other, True, 16).key(TEXTS))
    assert len(keys) == 7
    how([("a", "b")])  # what the tokenizer did last leaves a mark in it, which must not count
    assert how.key(TEXTS) in keys


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty"])
def test_a_damaged_file_is_made_again(how: Tokenizing, tmp_path: Path, damage: str) -> None:
    whole = tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).to_pydict()
    (path,) = tmp_path.glob("*/*.arrow")
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.unlink()  # this process may still have the good one mapped
    path.write_bytes({"cut": content[:100], "flipped": content, "empty": b""}[damage])
    tokens._mapped.cache_clear()
    assert tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).to_pydict() == whole
    tokens._mapped.cache_clear()
    assert tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).to_pydict() == whole
    assert len(list(tmp_path.glob("*/*.arrow"))) == 1


def test_a_failure_leaves_nothing_half_cached(how: Tokenizing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(*_: object) -> None:
        raise OSError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(tokens.pa.ipc, "new_file", disk_full)
        with pytest.raises(OSError, match="No space"):
            tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS))
    assert [path.name for path in tmp_path.glob("*/*") if path.name != "lock"] == []
    assert tokenized(lambda: TEXTS, how, tmp_path / how.key(TEXTS)).num_rows == 3


WORKER = """
import sys, time
from pathlib import Path
from bertxfer.learning import tokens
class How:
    def key(self, texts): return "key"
    def parts(self, texts):
        with open(sys.argv[1] + "/calls", "a") as file: file.write("x")
        time.sleep(0.5)
        yield {"input_ids": [[1, 2], [3]]}
print(tokens.tokenized(list, How(), Path(sys.argv[1]) / "tokens" / "key").to_pydict())
"""


def test_many_workers_at_once_make_it_once(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(tmp_path)]
    workers = [
        subprocess.Popen(command, env=environment(tmp_path), stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    said = {worker.communicate(timeout=120)[0] for worker in workers}
    assert said == {"{'input_ids': [[1, 2], [3]]}\n"}
    assert (tmp_path / "calls").read_text() == "x"


def test_a_trial_says_which_rows_it_saw(tiny_model: Path, tmp_path: Path) -> None:
    """The digest follows the rows: another sample is another, another scheme is not."""
    from bertxfer.learning import data
    from bertxfer.learning.digests import data_digest
    from bertxfer.tasks import source_of
    from bertxfer.trials.trial import trial_of
    from tests.helpers.commands import tiny_words
    from tests.helpers.configs import composed

    def digest(*words: str) -> str:
        trial = trial_of(composed(*tiny_words(tiny_model, *words)))
        source = source_of(trial.science.task, trial.data_at)
        tokenizer = encoders.tokenizer(trial.model_at, trial.science.model.version)
        return data_digest(*data.load(trial.science, source, tokenizer, tmp_path))

    assert digest("seed=1") == digest("seed=1", "scheme=scratch", "optimizer.lr=1")
    assert digest("seed=1") != digest("seed=2")
    assert json.dumps(digest("seed=1"))
