"""What analyses measure, in the words of whoever makes them and whoever reads them."""

from collections.abc import Sequence

# What surgery does to a region of the fine-tuned model: sets it back to the pretrained weights, or to those that
# fine-tuning began with, draws it anew, or leaves it out.
INTACT = "intact"
OPERATIONS = ("pretrained", "treated", "reinitialized", "skipped")
WHOLE = "layer"
MODULES = (WHOLE, "attention", "feedforward")
# The encoders whose states are compared: the reference, and the other.
PAIRS = (("pretrained", "finetuned"), ("treated", "finetuned"), ("pretrained", "treated"))
LOSS = "dev_loss"


def alphas(steps: int = 10) -> list[float]:
    """How far along the line from one model to another: 0, 0.1, ..., 1."""
    return [step / steps for step in range(steps + 1)]


def barrier(along: Sequence[float], losses: Sequence[float]) -> float:
    """How far the loss on the way rises above the straight line between the losses at both ends."""
    first, last = losses[0], losses[-1]
    return max(loss - ((1 - alpha) * first + alpha * last) for alpha, loss in zip(along, losses, strict=True))
