"""A trial's data: the training subsample and the dev set, tokenized, and batches padded to their longest row."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from bertxfer import seeds
from bertxfer.errors import ConfigError
from bertxfer.identity import Science
from bertxfer.tasks import Rows, Source

Batch = dict[str, Tensor]


@dataclass(frozen=True)
class Dataset:
    """Tokenized rows. `indices` are their places in the split that they come from."""

    indices: list[int]
    columns: dict[str, list[list[int]]]  # what the tokenizer gives: input_ids, token_type_ids, attention_mask
    labels: list[int]
    padding: dict[str, int]

    def __len__(self) -> int:
        return len(self.labels)

    def lengths(self) -> list[int]:
        return [len(ids) for ids in self.columns["input_ids"]]

    def batch(self, places: Sequence[int], device: torch.device) -> tuple[Batch, Tensor]:
        """These rows, padded to the longest of them, and their labels."""
        longest = max(len(self.columns["input_ids"][i]) for i in places)
        batch = {
            name: torch.tensor([rows[i] + [self.padding[name]] * (longest - len(rows[i])) for i in places])
            for name, rows in self.columns.items()
        }
        labels = torch.tensor([self.labels[i] for i in places])
        return {k: v.to(device, non_blocking=True) for k, v in batch.items()}, labels.to(device, non_blocking=True)


def load(science: Science, source: Source, tokenizer: Any) -> tuple[Dataset, Dataset]:
    """The training subsample and the whole dev set."""
    chosen = subsample(science, source.size("train"))
    everything = list(range(source.size("dev")))
    return (
        _tokenized(chosen, source.rows("train", chosen), science.data.max_length, tokenizer),
        _tokenized(everything, source.rows("dev", everything), science.data.max_length, tokenizer),
    )


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


def _tokenized(indices: list[int], rows: Rows, max_length: int, tokenizer: Any) -> Dataset:
    pair = len(rows.texts[0]) == 2
    columns = tokenizer(
        [texts[0] for texts in rows.texts],
        [texts[1] for texts in rows.texts] if pair else None,
        truncation=True,
        max_length=max_length,
    )
    padding = {
        "input_ids": tokenizer.pad_token_id,
        "token_type_ids": tokenizer.pad_token_type_id,
        "attention_mask": 0,
    }
    return Dataset(indices, {name: columns[name] for name in columns if name in padding}, rows.labels, padding)
