"""Probes: classifiers on the states of a frozen encoder, those of all layers and seeds trained as one stack.

Each probe of a stack ends as it would alone: it has its own rows, order of batches and initial weights, nothing is
summed over probes but the loss, whose gradient with respect to one probe does not know of the others.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.config.schema import Runtime
from bertxfer.errors import Interrupted, TrialError
from bertxfer.learning import devices, evaluation, features, heads, kinds, start, training
from bertxfer.learning.data import Dataset, epoch_order
from bertxfer.learning.run import Timings, facts, load_data, refuse_what_is_no_number, weights_digest
from bertxfer.store.results import Result
from bertxfer.store.store import Store
from bertxfer.system import environment, seeds
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial


def run(trials: Sequence[Trial], store: Store, runtime: Runtime, stop: Callable[[], bool]) -> list[Result | TrialError]:
    """Load the data, get the states of the layers, train all probes, evaluate and record each.

    The trials differ in their layers and seeds only. One whose loss is no number fails without the others.
    """
    first, timings = trials[0], Timings()
    for trial in trials:
        store.begin(trial)
    device = devices.choose(runtime.device)
    devices.prepare(device, runtime.threads, first.science.training.precision)

    def between() -> None:
        if stop():
            raise Interrupted(at=0, steps=0)  # features are kept in parts; a probe begins anew, which takes seconds

    with timings("load"):
        sets = _sets(trials, store)
        layers = sorted({trial.science.probe.layer for trial in trials if trial.science.probe is not None})
        begin = start.start(first, store.artifacts)
        every = [rows for pair in sets.values() for rows in pair]
        states, places = features.collect(first, every, layers, store.artifacts, begin.encoder, device, between)
        states = states.to(device)

    with timings("train"):
        stack = Stack(trials, begin.encoder).to(device)
        tables = [_table(trial, *sets[_sample(trial)], places, layers) for trial in trials]
        course = fit(stack, states, tables, first.science, between)

    with timings("evaluate"):
        outputs = stack.on(states, layers_of(tables, device), torch.stack([table.dev for table in tables])).cpu()
    shares = {name: round(seconds / len(trials), 4) for name, seconds in timings.seconds.items()}
    results: list[Result | TrialError] = []
    for i, trial in enumerate(trials):
        train, dev = sets[_sample(trial)]
        try:
            course.refuse_what_is_no_number(i)
            refuse_what_is_no_number(stack.weights(i))
            judged = evaluation.judged(list(outputs[i]), dev, trial.science.task)
        except TrialError as error:
            store.fail(trial, error)
            results.append(error)
            continue
        result = {
            **facts(trial, judged, begin, train, dev),
            "n_holdout": len(tables[i].held),
            "steps": course.steps,
            "epochs": course.epochs[i],
            "counted_epoch": course.counted[i],
            "weights_digest": weights_digest(stack.weights(i)),
            "timings": shares,  # its share of what it was computed together with
            "together": len(trials),
            "environment": environment.describe(device),
        }
        store.record(trial, result, judged["predictions"], course.history(i))
        results.append(result)
    return results


@dataclass(frozen=True)
class ProbeRows:
    """The places in the stacked states of a probe's rows, their labels, and the seed of their order."""

    layer: int  # its place among the stacked layers, not its number
    order_seed: int
    fit: Tensor
    fit_labels: Tensor
    held: Tensor
    held_labels: Tensor
    dev: Tensor


class Stack(nn.Module):
    """Many probes of one shape: for each a linear layer and, if asked for, BERT's own pooler before it."""

    weight: Tensor
    bias: Tensor
    pooler_weight: Tensor
    pooler_bias: Tensor

    def __init__(self, trials: Sequence[Trial], encoder: nn.Module) -> None:
        super().__init__()
        parts = [_initial(trial.science, encoder) for trial in trials]
        for name in parts[0]:
            setattr(self, name, nn.Parameter(torch.stack([part[name] for part in parts])))
        self.has_pooler = "pooler_weight" in parts[0]

    def forward(self, states: Tensor) -> Tensor:
        """Outputs (probe, row, class) for states (probe, row, width)."""
        if self.has_pooler:
            states = torch.tanh(_linear(states, self.pooler_weight, self.pooler_bias))
        return _linear(states, self.weight, self.bias)

    @torch.no_grad()
    def on(self, states: Tensor, layers: Tensor, rows: Tensor) -> Tensor:
        """Outputs for some rows of each probe, a thousand at a time."""
        return torch.cat([self(states[layers, part]) for part in rows.to(states.device).split(1024, dim=1)], 1)

    def weights(self, probe: int) -> dict[str, Tensor]:
        """One probe of the stack."""
        return {name: tensor[probe] for name, tensor in self.state_dict().items()}


def _linear(states: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Of every probe. All sums over rows, the bias's gradient included, are products of matrices: those come out the
    same to the bit however many probes are stacked (measured for 1 to 40), while torch's sums do not."""
    ones = states.new_ones(*states.shape[:2], 1)
    return torch.bmm(states, weight) + torch.bmm(ones, bias.unsqueeze(1))


def _initial(science: Science, encoder: nn.Module) -> dict[str, Tensor]:
    """What a probe begins with: drawn from the `head` stream as any head is, and the pretrained pooler."""
    model = heads.HeadedModel(encoder, science)
    assert science.probe is not None
    tensors = {"weight": model.classifier.weight.T, "bias": model.classifier.bias}
    if model.pooler is not None:
        tensors |= {"pooler_weight": model.pooler.dense.weight.T, "pooler_bias": model.pooler.dense.bias}
        encoder.pooler = model.pooler  # a head takes it off the encoder, and the next probe wants it too
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


@dataclass
class Course:
    """How the training went, probe by probe: what an epoch lost, and which epoch's weights count."""

    steps: int
    losses: Tensor  # (epoch, probe)
    held_losses: Tensor | None
    counted: list[int]
    epochs: list[int]  # that each probe was trained for

    def refuse_what_is_no_number(self, probe: int) -> None:
        lost = float(self.losses[: self.epochs[probe], probe].sum())
        if not math.isfinite(lost):
            raise TrialError(f"the training loss is {lost}; a lower optimizer.lr may help")
        if self.counted[probe] == 0:  # else the probe as it was drawn would be scored
            raise TrialError("the loss on the held-out rows was never a number; a lower optimizer.lr may help")

    def history(self, probe: int) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for epoch in range(self.epochs[probe]):
            events.append({"epoch": epoch + 1, "loss": float(self.losses[epoch, probe])})
            if self.held_losses is not None:
                events[-1]["holdout_loss"] = float(self.held_losses[epoch, probe])
        return events


def fit(
    stack: Stack, states: Tensor, tables: Sequence[ProbeRows], science: Science, between: Callable[[], None]
) -> Course:
    """Trains all probes; with a holdout, the weights of the epoch where a probe's held-out loss was lowest count."""
    how, kind, device = science.training, science.task.kind, states.device
    # The fused step rounds the last few numbers of a tensor differently, so a probe's place would be in its weights.
    optimizer = training.build_optimizer(stack, set(), 1.0, science.optimizer, fused=False)
    layers = layers_of(tables, device)
    rows = torch.stack([table.fit for table in tables]).to(device)
    labels = torch.stack([table.fit_labels for table in tables]).to(device)
    per_epoch = math.ceil(rows.shape[1] / how.batch_size)
    stopping = Stopping(stack, states, tables, kind, how.patience) if how.patience is not None else None
    steps, losses = 0, []
    for epoch in range(how.epochs):
        orders = {seed: epoch_order(rows.shape[1], seed, epoch) for seed in {table.order_seed for table in tables}}
        order = torch.tensor([orders[table.order_seed] for table in tables]).to(device)
        seen = torch.zeros(len(tables), device=device)
        for chosen in order.split(how.batch_size, dim=1):
            factor = training.lr_factor(steps, how.epochs * per_epoch, how)
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
            optimizer.zero_grad(set_to_none=True)
            batch_losses = _losses(kind, stack(states[layers, rows.gather(1, chosen)]), labels.gather(1, chosen))
            batch_losses.sum().backward()
            if how.clip is not None:
                _clip(stack, how.clip)
            optimizer.step()
            seen += batch_losses.detach()
            steps += 1
            if steps % 50 == 0:
                between()
        losses.append(seen / per_epoch)
        if stopping is not None and stopping.all_after_epoch():
            break
    whole = torch.stack(losses).cpu()
    if stopping is None:
        return Course(steps, whole, None, [len(losses)] * len(tables), [len(losses)] * len(tables))
    stopping.restore_best()
    return Course(steps, whole, torch.stack(stopping.losses).cpu(), stopping.best_epoch.tolist(), stopping.epochs())


class Stopping:
    """Early stopping, probe by probe, by the loss on rows that are held out. A tie is no improvement."""

    def __init__(self, stack: Stack, states: Tensor, tables: Sequence[ProbeRows], kind: str, patience: int) -> None:
        self.stack, self.states, self.kind, self.patience = stack, states, kind, patience
        self.layers = layers_of(tables, states.device)
        self.rows = torch.stack([table.held for table in tables])
        self.labels = torch.stack([table.held_labels for table in tables]).to(states.device)
        self.best = torch.full((len(tables),), math.inf, device=states.device)
        self.best_epoch = torch.zeros(len(tables), dtype=torch.long, device=states.device)
        self.kept = {name: tensor.detach().clone() for name, tensor in stack.named_parameters()}
        self.losses: list[Tensor] = []

    def all_after_epoch(self) -> bool:
        """Looks at the held-out losses; true when no probe has reason to go on."""
        losses = _losses(self.kind, self.stack.on(self.states, self.layers, self.rows), self.labels)
        better = self._running() & (losses < self.best)
        self.losses.append(losses)
        self.best = torch.where(better, losses, self.best)
        self.best_epoch = torch.where(better, len(self.losses), self.best_epoch)
        for name, tensor in self.stack.named_parameters():
            self.kept[name][better] = tensor.detach()[better]
        return not bool(self._running().any())

    def _running(self) -> Tensor:
        return len(self.losses) - self.best_epoch < self.patience

    def epochs(self) -> list[int]:
        """How many epochs each probe was trained for before it had stopped; the stack went on without counting it."""
        return [min(len(self.losses), best + self.patience) for best in self.best_epoch.tolist()]

    @torch.no_grad()
    def restore_best(self) -> None:
        for name, tensor in self.stack.named_parameters():
            tensor.copy_(self.kept[name])


def layers_of(tables: Sequence[ProbeRows], device: torch.device) -> Tensor:
    return torch.tensor([[table.layer] for table in tables], device=device)


def _losses(kind: str, outputs: Tensor, labels: Tensor) -> Tensor:
    """The mean loss of each probe."""
    row_losses = kinds.of(kind).row_losses
    assert row_losses is not None, f"a task of kind {kind} cannot be probed"
    losses = row_losses(outputs, labels)
    return torch.bmm(losses.unsqueeze(1), losses.new_ones(*losses.shape, 1)).flatten() / losses.shape[1]


def _clip(stack: Stack, most: float) -> None:
    """As clip_grad_norm_ does it, for each probe on its own."""
    gradients = [parameter.grad for parameter in stack.parameters() if parameter.grad is not None]
    whole = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
    norms = torch.bmm(whole.unsqueeze(1), whole.unsqueeze(2)).flatten().sqrt()
    factors = (most / (norms + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *[1] * (gradient.dim() - 1)))


def _sets(trials: Sequence[Trial], store: Store) -> dict[str, tuple[Dataset, Dataset]]:
    """Training and dev rows by the seed of the subsample; layers share them."""
    sets: dict[str, tuple[Dataset, Dataset]] = {}
    for trial in trials:
        if _sample(trial) not in sets:
            sets[_sample(trial)] = load_data(trial, store)
    return sets


def _sample(trial: Trial) -> str:
    return str(trial.science.seeds.get("subsample"))


def _table(trial: Trial, train: Dataset, dev: Dataset, places: dict[bytes, int], layers: list[int]) -> ProbeRows:
    probe, order_seed = trial.science.probe, trial.science.seeds["order"]
    assert probe is not None
    held: list[int] = []
    if probe.holdout is not None:
        size = max(1, round(probe.holdout * len(train)))
        if size >= len(train):
            raise TrialError(f"data.n: {len(train)} rows leave none to train on beside those held out to stop by")
        held = sorted(seeds.permutation(len(train), order_seed, "holdout")[:size])
    fitted = sorted(set(range(len(train))) - set(held))
    rows = [places[key] for key in features.keys_of(train)]
    return ProbeRows(
        layer=layers.index(probe.layer),
        order_seed=order_seed,
        fit=torch.tensor([rows[i] for i in fitted]),
        fit_labels=torch.tensor([train.labels[i] for i in fitted]),
        held=torch.tensor([rows[i] for i in held], dtype=torch.long),
        held_labels=torch.tensor([train.labels[i] for i in held]),
        dev=torch.tensor([places[key] for key in features.keys_of(dev)]),
    )
