"""The optimizer step, the schedule and the stop rule."""

import math

import pytest
import torch
from torch import nn

from bertxfer.config.schema import Optimizer, Training
from bertxfer.learning.data import Dataset
from bertxfer.learning.training import Part, State, build_optimizer, fit, lr_factor
from bertxfer.trials.trial import watches_scores

CPU = torch.device("cpu")


class Bag(nn.Module):
    """A classifier small enough to reason about."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Embedding(20, 4)
        self.LayerNorm = nn.LayerNorm(4)
        self.classifier = nn.Linear(4, 2)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        mask = batch["attention_mask"].unsqueeze(-1)
        mean = (self.embedding(batch["input_ids"]) * mask).sum(1) / mask.sum(1)
        return self.classifier(self.LayerNorm(mean))


def dataset(n: int = 24) -> Dataset:
    ids = [[1 + (7 * i + j) % 19 for j in range(2 + i % 3)] for i in range(n)]
    ones = [[1] * len(row) for row in ids]
    padding = {"input_ids": 0, "attention_mask": 0}
    columns, labels = {"input_ids": ids, "attention_mask": ones}, [i % 2 for i in range(n)]
    return Dataset(list(range(n)), columns, labels, padding, packed=False)


def trained(training: Training, scores: list[float] | None = None, lr: float = 1e-2, each_epoch: bool = False) -> State:
    model = Bag()
    state = State(model, build_optimizer(model, {}, Optimizer("adam", lr)), CPU)
    coming = iter(scores or [0.5] * 100)

    def evaluate() -> dict[str, object]:
        score = next(coming)
        return {"score": score, "metrics": {"accuracy": score}, "loss": 1 - score}

    each_epoch = each_epoch or watches_scores(training)
    fit(state, [Part(model, dataset(), "classification")], training, 0, evaluate, lambda: None, each_epoch)
    return state


def test_accumulated_batches_are_one_large_batch() -> None:
    whole = trained(Training(epochs=2, batch_size=8))
    parts = trained(Training(epochs=2, batch_size=2, accumulate=4))
    assert whole.record.step == parts.record.step == 6
    for large, small in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(large, small, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("schedule", "warmup", "factors"),
    [
        ("linear", 0.0, [1.0, 0.75, 0.5, 0.25]),
        ("linear", 0.5, [0.0, 0.5, 1.0, 0.5]),
        ("constant", 0.0, [1.0, 1.0, 1.0, 1.0]),
        ("cosine", 0.0, [1.0, 0.5 + math.sqrt(0.5) / 2, 0.5, 0.5 - math.sqrt(0.5) / 2]),
    ],
)
def test_schedule(schedule: str, warmup: float, factors: list[float]) -> None:
    training = Training(schedule=schedule, warmup=warmup)
    assert [lr_factor(step, 4, training) for step in range(4)] == pytest.approx(factors)


def test_learning_rates_reach_the_optimizer() -> None:
    state = trained(Training(epochs=1, batch_size=6), lr=1e-3)
    assert [event["lr"] for event in state.record.history if "lr" in event] == pytest.approx(
        [1e-3, 7.5e-4, 5e-4, 2.5e-4]
    )


def test_no_decay_on_biases_and_layernorm_and_another_rate_for_the_redrawn() -> None:
    model = Bag()
    optimizer = build_optimizer(model, {"embedding.weight": 5.0}, Optimizer("adamw", 1e-3, weight_decay=0.1))
    found = {
        id(parameter): (group["lr"], group["weight_decay"])
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert {name: found[id(parameter)] for name, parameter in model.named_parameters()} == {
        "embedding.weight": (5e-3, 0.1),
        "LayerNorm.weight": (1e-3, 0.0),
        "LayerNorm.bias": (1e-3, 0.0),
        "classifier.weight": (1e-3, 0.1),
        "classifier.bias": (1e-3, 0.0),
    }


def test_stops_when_the_dev_score_no_longer_improves() -> None:
    scores = [0.5, 0.7, 0.6, 0.7, 0.9]
    state = trained(Training(epochs=5, stop="dev_score", patience=2), scores)
    assert state.record.epoch == 4
    assert state.record.best is not None and state.record.last is not None
    assert (state.record.best["score"], state.record.last["score"]) == (0.7, 0.7)
    assert trained(Training(epochs=5, stop="dev_score", patience=3), scores).record.epoch == 5


def test_stops_when_the_training_loss_no_longer_falls() -> None:
    """With a learning rate that moves nothing, every epoch has the first one's loss."""
    assert trained(Training(epochs=9, batch_size=1, stop="train_loss", patience=2), lr=1e-30).record.epoch == 3


def test_best_epoch_is_kept_and_nan_is_never_best() -> None:
    state = trained(Training(epochs=4, report="best"), [float("nan"), 0.6, float("nan"), 0.5])
    assert state.record.best is not None and state.record.best["score"] == 0.6
    assert state.record.last is not None and state.record.last["score"] == 0.5


def test_a_loss_that_is_not_finite_ends_the_trial() -> None:
    from bertxfer.errors import TrialError

    with pytest.raises(TrialError, match=r"loss is (nan|inf)"):
        trained(Training(epochs=3, clip=None), lr=1e30)
