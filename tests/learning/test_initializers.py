"""The spread of what is redrawn."""

import math

import pytest
import torch
from scipy import stats

from bertxfer.learning.initializers import redraw
from bertxfer.trials.initializer import Initializer
from bertxfer.trials.operations import treatment_of
from bertxfer.trials.regions import Anatomy
from tests.helpers.configs import composed

WEIGHT, BIAS, GAMMA, BETA = "x.dense.weight", "x.dense.bias", "x.LayerNorm.weight", "x.LayerNorm.bias"


def initializer(name: str) -> Initializer:
    made = treatment_of(composed("scheme=single", "layer=1", f"init={name}"), Anatomy("bert", 12, 12)).initializer
    assert made is not None
    return made


def drawn(name: str, tensor: str = WEIGHT, size: int = 400_000) -> tuple[torch.Tensor, torch.Tensor]:
    before = torch.randn(size, generator=torch.Generator().manual_seed(1)) + 3
    after = before.clone()
    redraw(after, tensor, initializer(name), torch.Generator().manual_seed(2))
    return before, after


@pytest.mark.parametrize(
    ("name", "sd", "bound"),
    [
        # The sd of a normal cut at +-c sd is sd * sqrt(1 - 2 c phi(c) / (2 Phi(c) - 1)); scipy knows it.
        ("bert", 0.02 * stats.truncnorm(-2, 2).std(), 0.04),
        ("paper_code", 0.00046, 0.0008),
        ("normal", 0.02, math.inf),
    ],
)
def test_spread(name: str, sd: float, bound: float) -> None:
    _, values = drawn(name)
    assert values.std().item() == pytest.approx(sd, rel=0.01)
    assert abs(values.mean().item()) < 4 * sd / math.sqrt(len(values))
    assert values.abs().max().item() <= bound


def test_paper_code_draws_what_scipy_draws() -> None:
    _, values = drawn("paper_code", size=20_000)
    published = stats.truncnorm(-2 * 0.02, 2 * 0.02, scale=0.02)
    assert stats.kstest(values.numpy(), published.cdf).pvalue > 0.001


def test_bert_draws_a_truncated_normal() -> None:
    _, values = drawn("bert", size=20_000)
    assert stats.kstest(values.numpy(), stats.truncnorm(-2, 2, scale=0.02).cdf).pvalue > 0.001


@pytest.mark.parametrize("tensor", [WEIGHT, BIAS, GAMMA, BETA])
def test_shuffle_keeps_the_values_and_loses_their_places(tensor: str) -> None:
    before, after = drawn("shuffle", tensor, 1000)
    assert not torch.equal(before, after)
    assert torch.equal(before.sort().values, after.sort().values)


@pytest.mark.parametrize("name", ["bert", "normal"])
def test_biases_and_layernorm_are_reset(name: str) -> None:
    assert torch.equal(drawn(name, BIAS, 9)[1], torch.zeros(9))
    assert torch.equal(drawn(name, GAMMA, 9)[1], torch.ones(9))
    assert torch.equal(drawn(name, BETA, 9)[1], torch.zeros(9))


def test_the_published_code_resets_layernorm_and_keeps_biases() -> None:
    assert torch.equal(drawn("paper_code", GAMMA, 9)[1], torch.ones(9))
    assert torch.equal(drawn("paper_code", BETA, 9)[1], torch.zeros(9))
    before, after = drawn("paper_code", BIAS, 9)
    assert torch.equal(before, after)


def test_biases_can_be_drawn_as_weights_are() -> None:
    made = treatment_of(composed("scheme=single", "layer=1", "init.biases=draw"), Anatomy("bert", 12, 12)).initializer
    assert made is not None
    biases = torch.full((20_000,), 3.0)
    redraw(biases, BIAS, made, torch.Generator().manual_seed(2))
    assert stats.kstest(biases.numpy(), stats.truncnorm(-2, 2, scale=0.02).cdf).pvalue > 0.001


@pytest.mark.parametrize("tensor", [BIAS, GAMMA, BETA])
def test_algorithm_1_keeps_biases_and_layernorm(tensor: str) -> None:
    before, after = drawn("weights", tensor, 9)
    assert torch.equal(before, after)
