"""Heads: their outputs, their losses, and that padding changes neither."""

from pathlib import Path

import pytest
import torch

from bertxfer.learning import encoders, heads, kinds
from bertxfer.trials.trial import trial_of
from tests.helpers.commands import tiny_words
from tests.helpers.configs import TASKS, composed


def model_of(kind: str, tiny_model: Path, *words: str) -> heads.HeadedModel:
    trial = trial_of(composed(*tiny_words(tiny_model, "model.dropout=0", *TASKS[kind], *words)))
    return heads.HeadedModel(encoders.load(trial.model_at, trial.science.model), trial.science)


def batch(*rows: list[int]) -> dict[str, torch.Tensor]:
    longest = max(map(len, rows))
    return {
        "input_ids": torch.tensor([row + [0] * (longest - len(row)) for row in rows]),
        "attention_mask": torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows]),
    }


@pytest.mark.parametrize(("kind", "shape"), [("classification", (2, 2)), ("regression", (2, 1)), ("span", (2, 6, 2))])
@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_outputs_do_not_depend_on_padding(kind: str, shape: tuple[int, ...], pooling: str, tiny_model: Path) -> None:
    model = model_of(kind, tiny_model, f"model.pooling={pooling}").eval()
    short, long = [2, 9, 8, 3], [2, 7, 9, 11, 13, 3]
    with torch.no_grad():
        together, alone = model(batch(short, long)), model(batch(short))
    assert together.shape == shape
    torch.testing.assert_close(together[0, : alone.shape[1]], alone[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", list(TASKS))
def test_every_weight_of_the_head_gets_a_gradient(kind: str, tiny_model: Path) -> None:
    model = model_of(kind, tiny_model, "model.pooling=cls")
    labels = {"classification": [0, 1], "regression": [0.5, 4.0], "span": [(0, 0), (1, 2)]}[kind]
    kinds.of(kind).loss(model(batch([2, 9, 3], [2, 7, 9, 11, 3])), torch.tensor(labels)).backward()
    for name, parameter in model.named_parameters():
        if name.startswith(("classifier", "pooler")):
            assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
    assert (model.pooler is None) == (kind == "span")


def test_losses_are_means() -> None:
    outputs = torch.randn(3, 4)
    assert kinds.of("classification").loss(outputs, torch.tensor([0, 1, 2])) == torch.nn.functional.cross_entropy(
        outputs, torch.tensor([0, 1, 2])
    )
    assert kinds.of("regression").loss(torch.tensor([[1.0], [3.0]]), torch.tensor([0.0, 5.0])) == 2.5
    spans, labels = torch.randn(3, 7, 2), torch.tensor([[0, 0], [2, 4], [1, 6]])
    start, end = (torch.nn.functional.cross_entropy(spans[:, :, i], labels[:, i]) for i in (0, 1))
    torch.testing.assert_close(kinds.of("span").loss(spans, labels), (start + end) / 2)
