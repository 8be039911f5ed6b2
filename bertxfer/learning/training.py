"""Fine-tuning: a plain loop over a state that can be saved after any step and goes on to the same last bit."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.config.schema import UNCORRECTED_FROM, Optimizer, Training
from bertxfer.errors import TrialError
from bertxfer.learning import devices, kinds
from bertxfer.learning.data import Dataset, epoch_order
from bertxfer.learning.initializers import is_layernorm
from bertxfer.system import seeds


@dataclass
class TrainingRecord:
    """What has been seen so far, and everything but tensors that decides what comes next."""

    step: int = 0  # optimizer steps taken
    epoch: int = 0  # epochs finished
    history: list[dict[str, float]] = field(default_factory=list)
    dev_scores: list[float] = field(default_factory=list)  # the headline metric, after each epoch that was evaluated
    train_losses: list[float] = field(default_factory=list)  # mean over an epoch's steps
    best: dict[str, Any] | None = None  # what `evaluate` returned for the best epoch; means something if each has one
    last: dict[str, Any] | None = None
    stopped: bool = False

    @property
    def course(self) -> list[dict[str, float]]:
        """The dev scores after each epoch that was evaluated."""
        return [event for event in self.history if "epoch" in event]


class State:
    """All that a resumed trial needs: weights, optimizer, generators and the record."""

    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
        self.model, self.optimizer, self.device = model, optimizer, device
        # Gathered once: at every step it took 0.8 of 44 ms.
        self.parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
        self.record = TrainingRecord()
        self.pending: list[tuple[int, float, Tensor]] = []  # losses still on the device: reading one waits for it

    def state_dict(self) -> dict[str, Any]:
        self.read_losses()
        return {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "record": vars(self.record),
            "cpu_generator": torch.get_rng_state(),
            "device_generator": torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None,
            "mps_generator": torch.mps.get_rng_state() if self.device.type == "mps" else None,
        }

    def load_state_dict(self, saved: dict[str, Any]) -> None:
        self.model.load_state_dict(saved["model"])
        self.optimizer.load_state_dict(saved["optimizer"])
        self.record = TrainingRecord(**saved["record"])
        torch.set_rng_state(saved["cpu_generator"])
        if self.device.type == "cuda" and saved["device_generator"] is not None:  # else it began on a CPU
            torch.cuda.set_rng_state(saved["device_generator"], self.device)
        if self.device.type == "mps" and saved.get("mps_generator") is not None:
            torch.mps.set_rng_state(saved["mps_generator"])

    def forget_moments(self) -> None:
        """After the last step. What follows, and the next trial, can have their memory."""
        self.optimizer.state.clear()
        devices.give_back()

    def read_losses(self) -> None:
        for step, lr, tensor in self.pending:
            loss = float(tensor)
            if not math.isfinite(loss):
                raise TrialError(f"the training loss is {loss} at step {step}; a lower optimizer.lr may help")
            self.record.history.append({"step": step, "loss": loss, "lr": lr})
        self.pending.clear()


def build_optimizer(
    model: nn.Module, rates: Mapping[str, float], optimizer: Optimizer, fused: bool = True
) -> torch.optim.Optimizer:
    """Adam or AdamW for what is trained. `rates` has tensors that learn at another share of the learning rate; biases
    and LayerNorm do not decay."""
    groups: dict[tuple[float, float], list[nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            lr = optimizer.lr * rates.get(name, 1.0)
            decay = 0.0 if name.endswith("bias") or is_layernorm(name) else optimizer.weight_decay
            groups.setdefault((lr, decay), []).append(parameter)
    settings = [{"params": p, "lr": lr, "peak_lr": lr, "weight_decay": decay} for (lr, decay), p in groups.items()]
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[optimizer.name]
    betas = (optimizer.beta1, optimizer.beta2)
    built = kind(settings, lr=optimizer.lr, betas=betas, eps=optimizer.eps, fused=fused)
    if not optimizer.bias_correction:
        _begin_late(built)
    return built


def _begin_late(optimizer: torch.optim.Optimizer) -> None:
    """Counts steps from one so late that the correction of the moments' bias is 1 to the last bit: BERT's own Adam,
    which has none. Torch has no switch for it."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            optimizer.state[parameter] = {
                "step": torch.full((), UNCORRECTED_FROM, dtype=torch.float32, device=parameter.device),
                "exp_avg": torch.zeros_like(parameter),
                "exp_avg_sq": torch.zeros_like(parameter),
            }


@dataclass(frozen=True)
class Part:
    """A task that is trained: its model and its rows. Interleaved tasks share the encoder inside their models."""

    model: nn.Module
    rows: Dataset
    kind: str


def steps_per_epoch(parts: Sequence[Part], training: Training) -> int:
    return sum(math.ceil(len(part.rows) / (training.batch_size * training.accumulate)) for part in parts)


def total_steps(parts: Sequence[Part], training: Training) -> int:
    return training.epochs * steps_per_epoch(parts, training)


def lr_factor(step: int, total: int, training: Training) -> float:
    """The share of the peak learning rate at a step counted from 0; linear decay reaches zero after the last."""
    warmup = round(training.warmup * total)
    if step < warmup:
        return step / warmup
    done = (step - warmup) / max(1, total - warmup)
    if training.schedule == "linear":
        return 1.0 - done
    if training.schedule == "cosine":
        return 0.5 * (1.0 + math.cos(math.pi * done))
    return 1.0


def decay_without_gradient(state: State, weight: Tensor, total: int, training: Training) -> float:
    """The factor by which the steps taken shrank the values of `weight` that no batch used: only AdamW shrinks them."""
    if not isinstance(state.optimizer, torch.optim.AdamW):
        return 1.0
    group = next((one for one in state.optimizer.param_groups if any(p is weight for p in one["params"])), None)
    if group is None:  # frozen
        return 1.0
    rates = (group["peak_lr"] * lr_factor(step, total, training) for step in range(state.record.step))
    return math.prod(1.0 - rate * group["weight_decay"] for rate in rates)


def fit(
    state: State,
    parts: Sequence[Part],
    training: Training,
    order_seed: int,
    evaluate: Callable[[], dict[str, Any]],
    after_step: Callable[[], None],
    each_epoch: bool,
) -> None:
    """Trains until the last epoch or the stop rule; `evaluate` is called after that, or after each epoch."""
    record = state.record
    per_epoch, total = steps_per_epoch(parts, training), total_steps(parts, training)
    while record.epoch < training.epochs and not record.stopped:
        state.model.train()
        steps = epoch_steps(parts, training, order_seed, record.epoch)
        for part, rows in steps[record.step - record.epoch * per_epoch :]:
            _step(state, part, rows, training, total)
            if record.step % per_epoch:  # an epoch's last step is saved together with its evaluation
                after_step()
        state.optimizer.zero_grad(set_to_none=True)  # the evaluation can have their memory
        state.read_losses()  # before the evaluation, so that the error names the first step whose loss is not finite
        _end_epoch(state.record, training, per_epoch)
        if each_epoch or state.record.stopped or state.record.epoch == training.epochs:
            _note_evaluation(state.record, training, evaluate())
        after_step()


def epoch_steps(parts: Sequence[Part], training: Training, order_seed: int, epoch: int) -> list[tuple[Part, list[int]]]:
    """The task and rows of every step of an epoch; steps of several tasks come in a random order."""
    size = training.batch_size * training.accumulate
    steps = [(part, rows) for part in parts for rows in _chunks(epoch_order(len(part.rows), order_seed, epoch), size)]
    if len(parts) > 1:
        steps = [steps[i] for i in seeds.permutation(len(steps), order_seed, "interleave", epoch)]
    return steps


def _step(state: State, part: Part, rows: list[int], training: Training, total: int) -> None:
    """One optimizer step. Its loss is the mean over all rows, however many batches they are spread over."""
    factor = lr_factor(state.record.step, total, training)
    for group in state.optimizer.param_groups:
        group["lr"] = group["peak_lr"] * factor
    state.optimizer.zero_grad(set_to_none=True)
    step_loss = torch.zeros((), device=state.device)
    for batch_rows in _chunks(rows, training.batch_size):
        batch, labels = part.rows.batch(batch_rows, state.device)
        with devices.autocast(state.device, training.precision):
            loss = kinds.of(part.kind).loss(part.model(batch), labels) * (len(batch_rows) / len(rows))
        loss.backward()
        step_loss += loss.detach()
    if training.clip is not None:
        nn.utils.clip_grad_norm_(state.parameters, training.clip)
    state.optimizer.step()
    state.record.step += 1
    state.pending.append((state.record.step, state.optimizer.defaults["lr"] * factor, step_loss))


def _end_epoch(record: TrainingRecord, training: Training, per_epoch: int) -> None:
    record.epoch += 1
    losses = [e["loss"] for e in record.history if "loss" in e and e["step"] > record.step - per_epoch]
    record.train_losses.append(math.fsum(losses) / per_epoch)
    if training.stop == "train_loss":
        record.stopped = _is_enough([-loss for loss in record.train_losses], training)


def _note_evaluation(record: TrainingRecord, training: Training, evaluation: dict[str, Any]) -> None:
    record.dev_scores.append(evaluation["score"])
    scores = {**evaluation["metrics"], "dev_loss": evaluation["loss"]}
    record.history.append({"step": record.step, "epoch": record.epoch, **scores})
    record.last = evaluation
    if _epochs_since_best(record.dev_scores) == 0:
        record.best = evaluation
    if training.stop == "dev_score":
        record.stopped = _is_enough(record.dev_scores, training)


def _is_enough(watched: list[float], training: Training) -> bool:
    assert training.patience is not None
    return _epochs_since_best(watched) >= training.patience


def _epochs_since_best(scores: list[float]) -> int:
    """A tie is not an improvement, and neither is an undefined score (nan)."""
    best, since = -math.inf, 0
    for value in scores:
        since = 0 if value > best else since + 1
        best = max(best, value) if not math.isnan(value) else best
    return since


def seed_dropout(seed: int) -> None:
    """Dropout draws from torch's global generators; nothing else does after this."""
    torch.manual_seed(seeds.derive(seed, "dropout"))


def _chunks(items: list[int], size: int) -> Iterable[list[int]]:
    return (items[i : i + size] for i in range(0, len(items), size))
