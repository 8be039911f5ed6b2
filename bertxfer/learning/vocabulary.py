"""Vocabulary trimming: only the word embeddings that a trial's data uses are trained; the others come back later."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.config.schema import Optimizer
from bertxfer.learning.data import Dataset


@dataclass(frozen=True)
class Vocabulary:
    """The word pieces that are used, in the order of their numbers. A trimmed row's number is its index in `used`."""

    used: list[int]
    whole: Tensor  # all embeddings before training; maybe those that every trial begins with: never written to

    def restore(self, encoder: nn.Module, decay: float) -> None:
        """Gives the encoder all its rows again; those that were not used are scaled by `decay`."""
        trained = words_of(encoder).weight.detach()
        rows = self.whole.to(trained.device) * decay
        rows[torch.tensor(self.used, device=trained.device)] = trained
        _set_words(encoder, rows)

    def renumbered(self, data: Dataset) -> Dataset:
        index = {number: i for i, number in enumerate(self.used)}
        ids = [[index[number] for number in row] for row in data.columns["input_ids"]]
        return replace(data, columns={**data.columns, "input_ids": ids})


def trim(encoder: nn.Module, data: Iterable[Dataset], optimizer: Optimizer, pretrained: Tensor) -> Vocabulary:
    """Leaves the encoder only the rows of `trained_with`. Where they are the pretrained ones, those are what is kept
    for `restore`, so that the encoder's own (BERT-base: 90 MB) can go."""
    whole, padding = words_of(encoder).weight.detach(), words_of(encoder).padding_idx or 0
    # The model knows padding by its number, which may be another than its tokenizer's.
    used = sorted({*trained_with(data, len(whole), optimizer), *range(padding + 1)})
    _set_words(encoder, whole[torch.tensor(used)])
    return Vocabulary(used, pretrained if torch.equal(whole, pretrained) else whole)


def trained_with(data: Iterable[Dataset], words: int, optimizer: Optimizer) -> list[int]:
    """The word pieces whose embeddings training can change: what the data uses, unless Adam is to add weight decay to
    gradients; then all. Those up to the tokenizer's padding stay, because RoBERTa's positions follow its number."""
    if optimizer.name == "adam" and optimizer.weight_decay > 0:
        return list(range(words))
    used: set[int] = set()
    for rows in data:
        used |= set(range(rows.padding["input_ids"] + 1))
        for ids in rows.columns["input_ids"]:
            used.update(ids)
    return sorted(used)


def words_of(encoder: nn.Module) -> nn.Embedding:
    parts: Any = encoder
    words: nn.Embedding = parts.get_input_embeddings()
    return words


def _set_words(encoder: nn.Module, rows: Tensor) -> None:
    parts: Any = encoder
    padding = words_of(encoder).padding_idx
    parts.set_input_embeddings(nn.Embedding.from_pretrained(rows, freeze=False, padding_idx=padding))
