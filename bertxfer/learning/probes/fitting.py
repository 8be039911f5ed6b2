"""The training of a stack of probes."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from bertxfer.learning import training
from bertxfer.learning.data import epoch_order
from bertxfer.learning.probes.course import Course
from bertxfer.learning.probes.losses import mean_losses
from bertxfer.learning.probes.probe_rows import ProbeRows, layers_of
from bertxfer.learning.probes.stack import Stack
from bertxfer.learning.probes.stopping import Stopping
from bertxfer.trials.science import Science


def fit(
    stack: Stack, states: Tensor, probes: Sequence[ProbeRows], science: Science, between: Callable[[], None]
) -> Course:
    """Trains all probes; with a holdout, the weights of the epoch where a probe's held-out loss was lowest count."""
    settings, kind, device = science.training, science.task.kind, states.device
    # The fused step rounds the last few numbers of a tensor differently: a probe's position would show in its weights.
    optimizer = training.build_optimizer(stack, {}, science.optimizer, fused=False)
    layers = layers_of(probes, device)
    rows = torch.stack([one.fit for one in probes]).to(device)
    labels = torch.stack([one.fit_labels for one in probes]).to(device)
    per_epoch = math.ceil(rows.shape[1] / settings.batch_size)
    stopping = Stopping(stack, states, probes, kind, settings.patience) if settings.patience is not None else None
    steps, losses = 0, []
    for epoch in range(settings.epochs):
        orders = {seed: epoch_order(rows.shape[1], seed, epoch) for seed in {one.order_seed for one in probes}}
        order = torch.tensor([orders[one.order_seed] for one in probes]).to(device)
        epoch_losses = torch.zeros(len(probes), device=device)
        for chosen in order.split(settings.batch_size, dim=1):
            factor = training.lr_factor(steps, settings.epochs * per_epoch, settings)
            for group in optimizer.param_groups:
                group["lr"] = group["peak_lr"] * factor
            optimizer.zero_grad(set_to_none=True)
            batch_losses = mean_losses(kind, stack(states[layers, rows.gather(1, chosen)]), labels.gather(1, chosen))
            batch_losses.sum().backward()
            if settings.clip is not None:
                _clip(stack, settings.clip)
            optimizer.step()
            epoch_losses += batch_losses.detach()
            steps += 1
            if steps % 50 == 0:
                between()
        losses.append(epoch_losses / per_epoch)
        if stopping is not None and stopping.all_after_epoch():
            break
    whole = torch.stack(losses).cpu()
    if stopping is None:
        return Course(steps, whole, None, [len(losses)] * len(probes), [len(losses)] * len(probes))
    stopping.restore_best()
    return Course(steps, whole, torch.stack(stopping.losses).cpu(), stopping.best_epoch.tolist(), stopping.epochs())


def _clip(stack: Stack, most: float) -> None:
    """As clip_grad_norm_ does, for each probe on its own."""
    gradients = [parameter.grad for parameter in stack.parameters() if parameter.grad is not None]
    whole = torch.cat([gradient.flatten(1) for gradient in gradients], 1)
    norms = torch.bmm(whole.unsqueeze(1), whole.unsqueeze(2)).flatten().sqrt()
    factors = (most / (norms + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        gradient.mul_(factors.view(-1, *[1] * (gradient.dim() - 1)))
