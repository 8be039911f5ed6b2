"""Tokenized texts, made once for all trials: found by what went in, and trusted by the digest of what came out."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc
import tokenizers

from bertxfer.errors import ConfigError
from bertxfer.system import arrow
from bertxfer.system.files import alone, digest, refuse_links, remove_from, write_whole

FORMAT = 1
PART = 1000
Texts = Sequence[tuple[str, ...]]
Columns = dict[str, list[Any]]
_INPUTS = ("input_ids", "token_type_ids", "attention_mask")


class Tokenizing:
    """How texts become tokens: cut at max_length or, with a stride, the second of two spread over windows."""

    def __init__(
        self,
        tokenizer: Any,
        token_types: bool,
        max_length: int,
        stride: int | None = None,
        question_length: int | None = None,
    ) -> None:
        if not tokenizer.is_fast:
            raise ConfigError(
                "model.name", "its tokenizer has no fast form (tokenizer.json), which offsets are read from"
            )
        self.tokenizer = tokenizer
        self.max_length, self.stride, self.question_length = max_length, stride, question_length
        # Some tokenizers give segment ids that their models have no embedding for.
        self.inputs = [name for name in _INPUTS if name != "token_type_ids" or token_types]

    @property
    def padding(self) -> dict[str, int]:
        values = (self.tokenizer.pad_token_id, self.tokenizer.pad_token_type_id, 0)
        return dict(zip(_INPUTS, values, strict=True))

    def __call__(self, texts: Texts) -> Columns:
        """The model's inputs, one row per text; with a stride one row per window, and `row` says of which text."""
        columns: Columns = {}
        for part in self.parts(texts):
            for name, values in part.items():
                columns.setdefault(name, []).extend(values)
        return columns

    def parts(self, texts: Texts) -> Iterator[Columns]:
        """The same for some texts at a time: what a tokenizer returns for a whole data set takes gigabytes."""
        for first in range(0, len(texts), PART):
            part = texts[first : first + PART]
            yield self._windows(part, first) if self.stride is not None else self._cut(part)

    def key(self, texts: Texts) -> str:
        content = hashlib.sha256()
        settings = (FORMAT, self.max_length, self.stride, self.question_length, self.inputs, tokenizers.__version__)
        content.update(json.dumps([settings, _tokenizer_digest(self.tokenizer)]).encode())
        for row in texts:
            content.update(json.dumps(row).encode())
        return content.hexdigest()[:32]

    def _cut(self, texts: Texts) -> Columns:
        second = [row[1] for row in texts] if len(texts[0]) == 2 else None
        made = self.tokenizer([row[0] for row in texts], second, truncation=True, max_length=self.max_length)
        return {name: made[name] for name in self.inputs if name in made}

    def _windows(self, texts: Texts, first: int) -> Columns:
        """`starts` and `ends` are the characters of the passage that a token stands for; -1 outside the passage."""
        made = self.tokenizer(
            [self._shortened(question) for question, _ in texts],
            [passage for _, passage in texts],
            truncation="only_second",
            max_length=self.max_length,
            stride=self.stride,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        columns: Columns = {name: made[name] for name in self.inputs if name in made}
        for window, offsets in enumerate(made["offset_mapping"]):
            inside = [kind == 1 for kind in made.sequence_ids(window)]
            for name, side in (("starts", 0), ("ends", 1)):
                edges = [pair[side] if of_passage else -1 for pair, of_passage in zip(offsets, inside, strict=True)]
                columns.setdefault(name, []).append(edges)
        columns["row"] = [[first + row] for row in made["overflow_to_sample_mapping"]]
        return columns

    def _shortened(self, question: str) -> str:
        question = question.strip()
        made = self.tokenizer(question, add_special_tokens=False, return_offsets_mapping=True)["offset_mapping"]
        assert self.question_length is not None
        return question if len(made) <= self.question_length else question[: made[self.question_length - 1][1]]


def tokenized(texts: Callable[[], Texts], tokenizing: Tokenizing, folder: Path) -> "pa.Table":
    """The columns of these texts, kept in a folder named by their key. Many workers may ask at once; one makes them."""
    table = _read(folder)
    if table is None:
        refuse_links(folder.parent.parent, folder.parent.name, folder.name)
        folder.mkdir(parents=True, exist_ok=True)
        with alone(folder / "lock"):
            table = _read(folder)
            if table is None:
                _write(folder, tokenizing.parts(texts()))
                table = _read(folder)
    assert table is not None
    return table


def _write(folder: Path, parts: Iterator[Columns]) -> None:
    tables = (pa.table({name: arrow.lists(rows) for name, rows in part.items()}) for part in parts)

    def write(path: Path) -> None:
        first = next(tables)
        with pa.ipc.new_file(path, first.schema) as writer:
            writer.write_table(first)
            for table in tables:
                writer.write_table(table)

    named = write_whole(folder / "tokens.arrow", write, lambda path: f"{digest(path)}.arrow")
    damaged = [path.name for path in folder.glob("[!.]*.arrow") if path != named]
    remove_from(folder, damaged)


def _read(folder: Path) -> "pa.Table | None":
    for path in folder.glob("[!.]*.arrow"):
        table = _mapped(str(path), path.stat().st_mtime_ns)
        if table is not None:
            return table
    return None


@lru_cache(maxsize=8)
def _mapped(path: str, changed: int) -> "pa.Table | None":
    """The table, mapped into memory; none if the file is not what its name says."""
    if digest(Path(path)) != Path(path).stem:
        return None
    with pa.memory_map(path) as source:
        return pa.ipc.open_file(source).read_all()


def _tokenizer_digest(tokenizer: Any) -> str:
    """Covers all that decides its tokens. How the last call cut and padded is stored there too, and left out."""
    plain = json.loads(tokenizer.backend_tokenizer.to_str())
    plain.pop("truncation", None)
    plain.pop("padding", None)
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
