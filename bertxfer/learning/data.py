"""A trial's data: the training subsample and the dev set, tokenized, and batches of them, packed or padded."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from torch import Tensor

from bertxfer.errors import ConfigError
from bertxfer.learning import packing, tokens
from bertxfer.learning.packing import Packed
from bertxfer.learning.tokens import Tokenizing
from bertxfer.system import arrow, seeds
from bertxfer.tasks import Answers, Rows, Source
from bertxfer.trials.families import family_of
from bertxfer.trials.science import Science

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Windows:
    """The row that each window belongs to, and the characters of its passage that each token stands for (-1: none)."""

    row: list[int]
    starts: list[list[int]]
    ends: list[list[int]]


@dataclass(frozen=True)
class Dataset:
    """What a model is fed with. `indices` are those of the rows in the split that they come from."""

    indices: list[int]
    columns: dict[str, list[list[int]]]  # what the tokenizer gives: input_ids, token_type_ids, attention_mask
    labels: list[Any]  # one per input: a class, a score, or the first and last token of an answer
    padding: dict[str, int]
    rows: Rows | None = None
    windows: Windows | None = None  # where a row may be several inputs
    packed: bool = True

    def __len__(self) -> int:
        return len(self.labels)

    def lengths(self) -> list[int]:
        return [len(ids) for ids in self.columns["input_ids"]]

    def batch(self, chosen: Sequence[int], device: torch.device) -> tuple[Batch | Packed, Tensor]:
        """These inputs and their labels."""
        labels = _moved(torch.tensor([self.labels[i] for i in chosen]), device)
        if not self.packed:
            return self.padded(chosen, device), labels
        types = self.columns.get("token_type_ids")
        batch = packing.pack(
            [self.columns["input_ids"][i] for i in chosen], None if types is None else [types[i] for i in chosen]
        )
        return batch.moved(partial(_moved, device=device)), labels

    def padded(self, chosen: Sequence[int], device: torch.device) -> Batch:
        """These inputs, padded to the longest of them."""
        longest = max(len(self.columns["input_ids"][i]) for i in chosen)
        return {
            name: _moved(
                torch.tensor([rows[i] + [self.padding[name]] * (longest - len(rows[i])) for i in chosen]), device
            )
            for name, rows in self.columns.items()
        }


def _moved(tensor: Tensor, device: torch.device) -> Tensor:
    """From memory that a GPU can read by itself, so that the loop need not wait for the copy."""
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor.to(device)


def load(science: Science, source: Source, tokenizer: Any, cache: Path) -> tuple[Dataset, Dataset]:
    """The training subsample and the dev set, whole or its first rows. Tokens of what is stored are kept in `cache`."""
    span, data = science.task.span, science.data
    token_types = family_of(science.model.family).token_types
    question_length = span.question_length if span else None
    tokenizing = _tokenizing(tokenizer, token_types, data.max_length, data.stride, question_length)
    train = _dataset(source, "train", subsample(science, source.size("train")), tokenizing, cache)
    dev = _dev(source, data.dev_n, tokenizing, cache)
    packed = science.training.packed
    return replace(train, packed=packed), replace(dev, packed=packed)


def subsample(science: Science, size: int) -> list[int]:
    """The rows of the training set that this trial sees: the first n of a random order that its seed gives.

    So the sample of 500 is part of the sample of 5000 of the same seed, under every scheme.
    """
    n = science.data.n
    if science.data.fraction is not None:
        n = max(1, round(science.data.fraction * size))
    if n is None:
        return list(range(size))
    if n > size:
        raise ConfigError("data.n", f"{n} is more than the {size} training rows of task={science.task.name}")
    return seeds.permutation(size, science.seeds["subsample"], "subsample")[:n]


def epoch_order(size: int, seed: int, epoch: int) -> list[int]:
    """The order in which an epoch goes through the subsample."""
    return seeds.permutation(size, seed, "order", epoch)


@lru_cache(maxsize=1)
def _dev(source: Source, n: int | None, tokenizing: Tokenizing, cache: Path) -> Dataset:
    """The dev set, which a worker's next trial has, too. Making the mini tasks' anew took 33 ms of CPU a trial."""
    return _dataset(source, "dev", list(range(source.size("dev")))[:n], tokenizing, cache)


def _dataset(source: Source, split: str, indices: list[int], tokenizing: Tokenizing, cache: Path) -> Dataset:
    rows = source.rows(split, indices)
    if not source.stored:
        return Dataset(indices, tokenizing(rows.texts), rows.labels, tokenizing.padding, rows)
    table = tokens.tokenized(lambda: _texts(source, split), tokenizing, cache / _key(source, split, tokenizing))
    if tokenizing.stride is None:
        return Dataset(indices, _lists(table, indices), rows.labels, tokenizing.padding, rows)
    return _windowed(indices, table, rows, tokenizing)


@lru_cache(maxsize=8)
def _key(source: Source, split: str, tokenizing: Tokenizing) -> str:
    """All texts of a split are hashed for it, so each worker does it only once."""
    return tokenizing.key(_texts(source, split))


@lru_cache(maxsize=8)
def _tokenizing(*settings: Any) -> Tokenizing:
    """The same object for the same settings, for `_key`."""
    return Tokenizing(*settings)


def _texts(source: Source, split: str) -> list[tuple[str, ...]]:
    return source.rows(split, range(source.size(split))).texts


def _windowed(indices: list[int], table: "pa.Table", rows: Rows, tokenizing: Tokenizing) -> Dataset:
    windows_of: dict[int, list[int]] = {}
    for window, (row,) in enumerate(table["row"].to_pylist()):
        windows_of.setdefault(row, []).append(window)
    chosen = [window for index in indices for window in windows_of[index]]
    columns = _lists(table, chosen)
    row_of_window = [i for i, index in enumerate(indices) for _ in windows_of[index]]
    windows = Windows(row_of_window, columns.pop("starts"), columns.pop("ends"))
    columns.pop("row")
    labels = [
        answer_tokens(rows.labels[row], starts, ends)
        for row, starts, ends in zip(row_of_window, windows.starts, windows.ends, strict=True)
    ]
    return Dataset(indices, columns, labels, tokenizing.padding, rows, windows)


def answer_tokens(answers: Answers, starts: list[int], ends: list[int]) -> tuple[int, int]:
    """The first and last token of the first answer; [CLS] twice where this window does not have it whole."""
    if not answers.texts:
        return 0, 0
    begin, end = answers.starts[0], answers.starts[0] + len(answers.texts[0])
    inside = [i for i, (s, e) in enumerate(zip(starts, ends, strict=True)) if s >= 0 and s < end and e > begin]
    if not inside or starts[inside[0]] > begin or ends[inside[-1]] < end:
        return 0, 0
    return inside[0], inside[-1]


def _lists(table: "pa.Table", indices: list[int]) -> dict[str, list[list[int]]]:
    chosen = table.take(arrow.column(indices))
    return {name: chosen[name].to_pylist() for name in chosen.column_names}
