"""On small models of every family: a list of operations does to each value what a slow reading of the list says."""

import dataclasses
import math
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from bertxfer.learning import encoders, treating
from bertxfer.trials.families import FAMILIES
from bertxfer.trials.operations import treatment_of
from bertxfer.trials.regions import Anatomy
from bertxfer.trials.schemes import Donor
from bertxfer.trials.trial import trial_of
from tests.helpers import symbolic
from tests.helpers.configs import composed
from tests.helpers.families import small
from tests.helpers.operations import HEADS, LAYERS, Listed, lists
from tests.helpers.symbolic import Cell

WIDTH = 8
TABLES = (("word", "w"), ("position", "w"), ("type", "w"), ("norm", "n"))
EMBEDDINGS = {
    "bert": TABLES,
    "roberta": TABLES,
    "electra": (*TABLES, ("projection", "w"), ("projection", "b")),
    "distilbert": (*TABLES[:2], TABLES[3]),
}
# Where the cells are, by hand.
IN_BERT = {
    "query": "attention.self.query",
    "key": "attention.self.key",
    "value": "attention.self.value",
    "output": "attention.output.dense",
    "attention.norm": "attention.output.LayerNorm",
    "intermediate": "intermediate.dense",
    "out": "output.dense",
    "feedforward.norm": "output.LayerNorm",
}
IN_DISTILBERT = {
    "query": "attention.q_lin",
    "key": "attention.k_lin",
    "value": "attention.v_lin",
    "output": "attention.out_lin",
    "attention.norm": "sa_layer_norm",
    "intermediate": "ffn.lin1",
    "out": "ffn.lin2",
    "feedforward.norm": "output_layer_norm",
}
IN_EMBEDDINGS = {
    "word": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "type": "embeddings.token_type_embeddings",
    "norm": "embeddings.LayerNorm",
    "projection": "embeddings_project",
}


@cache
def _models(family: str, at: Path) -> tuple[Path, dict[str, dict[str, Tensor]]]:
    """A model's folder, and the tensors of it and of a donor with other weights."""
    folders = {
        "own": small(family, at, LAYERS, HEADS, WIDTH),
        "other": small(family, at / "o", LAYERS, HEADS, WIDTH, 1),
    }
    tensors = {}
    for name, folder in folders.items():
        one = trial_of(composed(f"model.name={folder}", "model.pooling=cls", "data.max_length=16"))
        encoder = encoders.load(one.model_at, one.science.model)
        tensors[name] = {name: tensor.detach().clone() for name, tensor in encoder.named_parameters()}
    return folders["own"], tensors


def tensors_of(cell: Cell, family: str) -> list[str]:
    ends = ["weight", "bias"] if cell.kind == "n" else [{"w": "weight", "b": "bias"}[cell.kind]]
    if cell.place == "pooler":
        return [f"pooler.dense.{end}" for end in ends]
    if cell.place == "embeddings":
        return [f"{IN_EMBEDDINGS[cell.name]}.{end}" for end in ends]
    names, layers = (IN_DISTILBERT, "transformer") if family == "distilbert" else (IN_BERT, "encoder")
    return [f"{layers}.layer.{int(cell.place[6:]) - 1}.{names[cell.name]}.{end}" for end in ends]


def part(tensor: Tensor, cell: Cell) -> Tensor:
    if not cell.head:
        return tensor
    rows = slice((cell.head - 1) * WIDTH // HEADS, cell.head * WIDTH // HEADS)
    return tensor[:, rows] if cell.name == "output" else tensor[rows]


def value(expression: Any, name: int, models: dict[str, dict[str, Tensor]], family: str) -> Tensor | None:
    """What an expression is; None where it is drawn."""
    kind = expression[0]
    if kind == "theirs":
        _, model, cell = expression
        return part(models[model][tensors_of(cell, family)[name]], cell)
    if kind == "average":
        _, amount, old, theirs = expression
        before, given = (value(one, name, models, family) for one in (old, theirs))
        return None if before is None or given is None else (1 - amount) * before + amount * given
    return None


@pytest.mark.parametrize("family", FAMILIES)
def test_every_value_is_what_the_list_says(family: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder, models = _models(family, tmp_path_factory.mktemp(family))
    config = composed(f"model.name={folder}", "model.pooling=cls", "data.max_length=16")
    one = trial_of(config)

    @settings(max_examples=60, deadline=None, derandomize=True)
    @given(lists())
    def check(listed: Listed) -> None:
        whole = dataclasses.replace(config, treatments=listed)
        anatomy = Anatomy(family, LAYERS, HEADS)
        treatment = treatment_of(whole, anatomy, "own", lambda name: Donor(name, name, True))
        encoder = encoders.load(one.model_at, one.science.model)
        donors = {name: (lambda name=name: models[name]) for name in models}
        treating.apply(treatment, encoder, FAMILIES[family], HEADS, 0, donors)  # type: ignore[arg-type]
        after = dict(encoder.named_parameters())
        effect = symbolic.effect(listed, LAYERS, HEADS, EMBEDDINGS[family])
        seen = set()
        for cell, expression in effect.items():
            for number, name in enumerate(tensors_of(cell, family)):
                if name not in after:
                    assert name.startswith("pooler.")  # some have none
                    continue
                seen.add(name)
                found, expected = part(after[name].detach(), cell), value(expression, number, models, family)
                if expression[0] == "constant":
                    one_or_zero = 1.0 if cell.kind == "n" and name.endswith("weight") else 0.0
                    assert torch.equal(found, torch.full_like(found, one_or_zero)), (cell, expression)
                elif expression[0] == "theirs":
                    assert expected is not None and torch.equal(found, expected), (cell, expression)
                elif expected is not None:
                    torch.testing.assert_close(found, expected)
                else:
                    untouched = value(("theirs", "own", cell), number, models, family)
                    assert untouched is not None and torch.isfinite(found).all()
                    assert not torch.equal(found, untouched), (cell, expression)
        assert seen == set(after)

    check()


def mini(*words: str) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Tensors of the mini model before and after a treatment."""
    one = trial_of(composed(*words))
    before, encoder = (encoders.load(one.model_at, one.science.model) for _ in range(2))
    family = FAMILIES[one.science.model.family]
    treating.apply(one.science.treatment, encoder, family, 12, one.science.seeds.get("redraw"))
    return dict(before.state_dict()), dict(encoder.state_dict())


WEIGHT = "encoder.layer.{}.intermediate.dense.weight"  # 48 x 192: the error of a mean is a hundredth of its sd


def test_statistics_are_all_that_is_left() -> None:
    before, after = mini("scheme=stats", "region=layers 2-3")
    for layer in (1, 2):
        old, new = before[WEIGHT.format(layer)], after[WEIGHT.format(layer)]
        assert float(new.mean() - old.mean()) == pytest.approx(0, abs=4 * float(old.std()) / math.sqrt(old.numel()))
        assert float(new.std()) == pytest.approx(float(old.std()), rel=0.05)
        assert abs(float(torch.corrcoef(torch.stack([old.flatten(), new.flatten()]))[0, 1])) < 0.05
    assert torch.equal(before[WEIGHT.format(0)], after[WEIGHT.format(0)])


@pytest.mark.parametrize("amount", [0.25, 0.6, 1.0])
def test_the_dial_mixes_one_noise_of_the_size_of_each_tensor(amount: float) -> None:
    before, after = mini("scheme=corrupt", f"amount={amount}")
    _, other = mini("scheme=corrupt", "amount=0.4")
    for layer in (0, 11):
        name = WEIGHT.format(layer)
        old, new = before[name].double(), after[name].double()
        noise = (new - math.sqrt(1 - amount**2) * old) / amount
        assert float(noise.std()) == pytest.approx(float(old.std()), rel=0.05)
        assert abs(float(torch.corrcoef(torch.stack([old.flatten(), noise.flatten()]))[0, 1])) < 0.05
        same = (other[name].double() - math.sqrt(1 - 0.4**2) * old) / 0.4
        torch.testing.assert_close(noise, same, rtol=1e-3, atol=1e-4)  # so that a dial is one path, not many
    assert torch.equal(before["embeddings.word_embeddings.weight"], after["embeddings.word_embeddings.weight"])
