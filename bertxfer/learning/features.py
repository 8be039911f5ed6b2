"""The states of every layer of a frozen encoder: one forward pass per text, kept for all probes of that encoder."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from bertxfer.errors import TrialError
from bertxfer.learning.data import Dataset
from bertxfer.store.artifacts import Artifacts
from bertxfer.trials import chains
from bertxfer.trials.trial import Trial

# Batches have fixed shapes, because the shape of a batch decides the last bits of its states: so a text's states are
# the same whichever other texts were asked for with it (tests/learning/test_probing.py measures it).
BATCH, LENGTHS = 32, 8
PART = 16384  # texts in one file: 650 MB of BERT-base

Keys = list[bytes]


def keys_of(rows: Dataset) -> Keys:
    """Each text by its tokens: equal texts of different splits, seeds and tasks share a key."""
    columns = [rows.columns[name] for name in sorted(rows.columns) if name != "attention_mask"]
    return [hashlib.sha256(repr(row).encode()).digest()[:16] for row in zip(*columns, strict=True)]


def collect(
    trial: Trial,
    datasets: Sequence[Dataset],
    layers: Sequence[int],
    artifacts: Artifacts,
    encoder: nn.Module,
    device: torch.device,
    between: Callable[[], None],
) -> tuple[Tensor, dict[bytes, int]]:
    """The states (layer, text, width) of all texts of the data sets in these layers, and the position of each text.

    What is not kept yet is computed, for all layers at once.
    """
    wanted: dict[bytes, tuple[Dataset, int]] = {}
    for rows in datasets:
        for row, key in enumerate(keys_of(rows)):
            wanted.setdefault(key, (rows, row))
    name = chains.features_name(trial)
    with artifacts.alone("features", name):
        known = _known(artifacts, name)
        missing = [key for key in wanted if key not in known]
        if missing:
            _make(missing, wanted, name, trial, artifacts, encoder.eval().to(device), device, between)
            known = _known(artifacts, name)
    return _gather(wanted, known, layers)


def _known(artifacts: Artifacts, name: str) -> dict[bytes, tuple[Any, int]]:
    """Where each text's states lie: a file, opened and mapped, and the row in it."""
    known: dict[bytes, tuple[Any, int]] = {}
    for path in artifacts.read("features", name):
        file = safe_open(path, "pt")
        for row, key in enumerate(file.get_tensor("keys").numpy()):
            known[key.tobytes()] = (file, row)
    return known


def _gather(
    wanted: dict[bytes, tuple[Dataset, int]], known: dict[bytes, tuple[Any, int]], layers: Sequence[int]
) -> tuple[Tensor, dict[bytes, int]]:
    by_file: dict[int, tuple[Any, list[int], list[int]]] = {}
    for position, key in enumerate(wanted):
        file, row = known[key]
        _, rows, positions = by_file.setdefault(id(file), (file, [], []))
        rows.append(row)
        positions.append(position)
    gathered: Tensor | None = None
    for file, rows, positions in by_file.values():
        for i, layer in enumerate(layers):
            states = file.get_tensor(f"layer.{layer}")[torch.tensor(rows)].float()
            if gathered is None:
                gathered = torch.empty(len(layers), len(wanted), states.shape[1])
            gathered[i, torch.tensor(positions)] = states
    assert gathered is not None
    return gathered, {key: position for position, key in enumerate(wanted)}


def _make(
    missing: Keys,
    wanted: dict[bytes, tuple[Dataset, int]],
    name: str,
    trial: Trial,
    artifacts: Artifacts,
    encoder: nn.Module,
    device: torch.device,
    between: Callable[[], None],
) -> None:
    probe, longest = trial.science.probe, trial.science.data.max_length
    assert probe is not None
    for first in range(0, len(missing), PART):
        part = missing[first : first + PART]
        states: list[Tensor] = []
        order: list[int] = []
        with torch.inference_mode():
            for members, length in _batches(part, wanted, longest):
                batch = _batch([wanted[part[i]] for i in members], length, device)
                states.append(_states(encoder, batch, probe.features)[:, : len(members)])
                order += members
                between()
        whole = torch.cat(states, 1)[:, torch.argsort(torch.tensor(order))]
        whole = whole.half() if probe.half else whole
        tensors = {f"layer.{layer}": layer_states.contiguous() for layer, layer_states in enumerate(whole)}
        tensors["keys"] = torch.tensor([list(key) for key in part], dtype=torch.uint8)
        artifacts.write("features", name, lambda path, tensors=tensors: save_file(tensors, path))  # type: ignore[misc]


def _pooled(encoder: nn.Module, layers: Tensor) -> Tensor:
    pooler: Any = getattr(encoder, "pooler", None)
    if pooler is None:
        raise TrialError("the model has no pretrained pooler; use probe.features=cls, or mean")
    return torch.stack([pooler(states) for states in layers])  # it takes the first token itself


def _batches(part: Keys, wanted: dict[bytes, tuple[Dataset, int]], longest: int) -> Iterator[tuple[list[int], int]]:
    """The indices of texts that are padded to the same length, and that length."""
    by_length: dict[int, list[int]] = {}
    for i, key in enumerate(part):
        rows, row = wanted[key]
        length = len(rows.columns["input_ids"][row])
        by_length.setdefault(min(-(-length // LENGTHS) * LENGTHS, longest), []).append(i)
    for length in sorted(by_length):
        members = by_length[length]
        yield from ((members[i : i + BATCH], length) for i in range(0, len(members), BATCH))


def _batch(texts: Sequence[tuple[Dataset, int]], length: int, device: torch.device) -> dict[str, Tensor]:
    filled = [*texts, *[texts[0]] * (BATCH - len(texts))]
    return {
        name: torch.tensor([_padded(rows.columns[name][row], length, rows.padding[name]) for rows, row in filled]).to(
            device
        )
        for name in filled[0][0].columns
    }


def _padded(values: list[int], length: int, filler: int) -> list[int]:
    return values + [filler] * (length - len(values))


def _states(encoder: nn.Module, batch: dict[str, Tensor], kind: str) -> Tensor:
    """(layer, text, width), from the embeddings up: the mean over a text's tokens, or its first token's state, as it is
    or through the encoder's own pooler."""
    layers = torch.stack(encoder(**batch, output_hidden_states=True).hidden_states)
    if kind in ("cls", "pooled"):
        return (layers[:, :, 0] if kind == "cls" else _pooled(encoder, layers)).cpu()
    mask = batch["attention_mask"].unsqueeze(-1).to(layers.dtype)
    return ((layers * mask).sum(2) / mask.sum(1)).cpu()
