"""What is trained, and how fast: frozen regions, rates that decay from layer to layer, Adam without its correction."""

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from bertxfer.config.schema import Optimizer
from bertxfer.learning import encoders, heads, tuned
from bertxfer.learning.training import build_optimizer
from bertxfer.trials.trial import Trial, trial_of
from tests.helpers.commands import Run, tiny_words
from tests.helpers.configs import composed
from tests.helpers.families import small
from tests.helpers.models import MINI
from tests.helpers.running import trial

LAYERS = 3


@pytest.fixture(scope="module", params=["bert", "distilbert"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small(request.param, tmp_path_factory.mktemp("models"), LAYERS, 2, 16)


def fine_tuned(bertxfer: Run, model: Path, tmp_path: Path, *words: str) -> dict[str, Tensor]:
    """The tensors of a model that was fine-tuned and kept, as its encoder calls them."""
    ended = bertxfer(*tiny_words(model, "keep=model", "optimizer.lr=1e-2", "model.pooling=cls", *words))
    assert ended.returncode == 0, ended.stderr
    (kept,) = (tmp_path / "out" / "trials").glob("*/model")
    tensors = load_file(kept / "model.safetensors")
    return {name.removeprefix("bert.").removeprefix("distilbert."): tensor for name, tensor in tensors.items()}


@pytest.mark.parametrize("optimizer", [["optimizer=adam"], ["optimizer=adamw", "optimizer.weight_decay=0.1"]])
def test_frozen_tensors_keep_their_bits_and_all_others_learn(
    bertxfer: Run, folder: Path, tmp_path: Path, optimizer: list[str]
) -> None:
    words = ["frozen=['embeddings','layers 1-2','layer 3 biases']", "training.packed=false", *optimizer]
    after, before = fine_tuned(bertxfer, folder, tmp_path, *words), load_file(folder / "model.safetensors")
    compared = 0
    for name, tensor in before.items():
        if name not in after:
            continue
        compared += 1
        top = ".layer.2." in name
        free = (top and not (name.endswith("bias") and "norm" not in name.lower())) or name.startswith("pooler.")
        assert torch.equal(after[name], tensor) == (not free), name
    assert compared >= len(before) - 2


def test_the_states_below_what_is_trained_have_no_graph(folder: Path) -> None:
    one = trial_of(composed(*tiny_words(folder, "frozen=['embeddings','layers 1-2']", "training.packed=false")))
    model = heads.HeadedModel(encoders.load(one.model_at, one.science.model), one.science)
    tuned.freeze(model, one.science)
    seen: list[bool] = []

    def note(_: object, __: object, states: Tensor | tuple[Tensor, ...]) -> None:
        seen.append((states[0] if isinstance(states, tuple) else states).requires_grad)

    layers = model.encoder.get_submodule("transformer.layer" if folder.name == "distilbert" else "encoder.layer")
    for layer in layers.children():
        layer.register_forward_hook(note)
    model({"input_ids": torch.ones(1, 4, dtype=torch.long), "attention_mask": torch.ones(1, 4, dtype=torch.long)})
    assert seen == [False, False, True]
    optimizer = build_optimizer(model, {}, one.science.optimizer)
    held = {id(parameter) for group in optimizer.param_groups for parameter in group["params"]}
    assert held == {id(parameter) for parameter in model.parameters() if parameter.requires_grad}


def ids(*words: str) -> str:
    return trial(*tiny_words(MINI, *words)).id


def test_the_same_regions_frozen_are_the_same_trial() -> None:
    half = ids("frozen='layers 1-6'")
    assert half == ids("frozen=['layers 4-6','layers 1-3']") == ids("frozen='layers except layers 7-12'")
    assert half != ids() != ids("frozen='layers 1-6 attention'")
    assert ids("training.epochs=0", "frozen='layers 1-6'") == ids("training.epochs=0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["frozen="], "is not a region"),
        (["frozen='layers except head 3'"], "frozen: a head is part of larger tensors"),
        (["frozen='layer 1 head 2'"], "frozen: a head is part of larger tensors"),
        (["frozen='layers 1-13'"], "on this model layers are 1..12"),
        (["frozen='layers 1-6'", "training=probe", "probe.layer=1"], "a probe trains nothing of the encoder"),
        (["optimizer.layer_decay=0"], "must be more than 0 and at most 1"),
        (["optimizer.bias_correction=false", "optimizer.beta2=0.9999999"], "too near 1"),
        (["optimizer.layer_decay=0.9", "training=probe", "probe.layer=1"], "go with fine-tuning"),
    ],
)
def test_refusals(bertxfer: Run, words: list[str], said: str) -> None:
    ended = bertxfer(*words)
    assert ended.returncode != 0 and said in ended.stderr, ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1


def rates(folder: Path, *words: str) -> tuple[Trial, dict[str, float]]:
    one = trial_of(composed(*tiny_words(folder, "model.pooling=cls", *words)))
    model = heads.HeadedModel(encoders.load(one.model_at, one.science.model), one.science)
    redrawn = [name for name, _ in model.encoder.named_parameters() if ".layer.2." in name]
    found = tuned.rates(model, one.science, redrawn)
    return one, {name: found.get(name, 1.0) for name, _ in model.named_parameters()}


def test_each_layer_learns_at_a_share_of_the_rate_of_the_one_above(folder: Path) -> None:
    _, found = rates(folder, "optimizer.layer_decay=0.5")
    for name, rate in found.items():
        expected = {".layer.0.": 0.25, ".layer.1.": 0.5, ".layer.2.": 1.0, "embeddings": 0.125}
        assert rate == next((rate for part, rate in expected.items() if part in name), 1.0), name


def test_reinitialized_layers_learn_faster_on_top_of_that(folder: Path) -> None:
    _, found = rates(folder, "optimizer.layer_decay=0.5", "scheme=incremental", "k=2", "reinit_lr_factor=4")
    assert {rate for name, rate in found.items() if ".layer.2." in name} == {4.0}
    assert {rate for name, rate in found.items() if ".layer.1." in name} == {0.5}


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_adam_without_correction_is_berts_own(name: str) -> None:
    """Against the update as Devlin et al.'s code has it: next_m / (sqrt(next_v) + eps), decay added to the update."""
    settings = Optimizer(name, 1e-2, beta1=0.8, beta2=0.95, eps=1e-6, weight_decay=0.1 if name == "adamw" else 0.0)
    settings = dataclasses.replace(settings, bias_correction=False)
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Linear(5, 4, bias=False)
    weight = model.weight.detach().clone()
    optimizer = build_optimizer(model, {}, settings)
    m, v = torch.zeros_like(weight), torch.zeros_like(weight)
    for step in range(20):
        gradient = torch.randn(weight.shape, generator=generator)
        rate = 1e-2 * (1 - step / 20)
        for group in optimizer.param_groups:
            group["lr"] = rate
        model.weight.grad = gradient.clone()
        optimizer.step()
        m = 0.8 * m + 0.2 * gradient
        v = 0.95 * v + 0.05 * gradient**2
        weight = weight - rate * (m / (v.sqrt() + 1e-6) + (0.1 * weight if name == "adamw" else 0))
        torch.testing.assert_close(model.weight.detach(), weight, rtol=1e-5, atol=1e-7)


def test_without_correction_the_first_steps_are_larger_and_it_is_another_trial(bertxfer: Run, tmp_path: Path) -> None:
    assert ids("optimizer.bias_correction=false") != ids() == ids("optimizer.bias_correction=true")
    moved = {}
    for correction in ("true", "false"):
        words = [f"optimizer.bias_correction={correction}", f"runtime.output_dir={tmp_path / correction}"]
        ended = bertxfer(*tiny_words(MINI, "data.n=8", "training.epochs=1", "analysis=weights", *words))
        assert ended.returncode == 0, ended.stderr
        (rows,) = (tmp_path / correction / "trials").glob("*/weights.parquet")
        moved[correction] = pd.read_parquet(rows)["distance"].sum()
    # One step of Adam: the rate with correction, 0.1 / sqrt(0.001) = 3.2 times it without.
    assert moved["false"] / moved["true"] == pytest.approx(0.1 / 0.001**0.5, rel=0.02)
