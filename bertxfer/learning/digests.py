"""Digests that say in one word whether two trials saw the same rows or ended in the same weights."""

import hashlib

import torch
from torch import Tensor

from bertxfer.learning.data import Dataset


def data_digest(train: Dataset, dev: Dataset) -> str:
    """Equal where two trials saw the same rows."""
    assert train.rows is not None and dev.rows is not None
    return hashlib.sha256(f"{train.rows.digest()} {dev.rows.digest()}".encode()).hexdigest()[:16]


def weights_digest(tensors: dict[str, Tensor]) -> str:
    """Equal where two trials ended in the same weights, to the bit."""
    content = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        content.update(name.encode())
        content.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
    return content.hexdigest()[:16]
