"""The pretrained layers in another order: one that is drawn, or one that is given."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.errors import ConfigError
from bertxfer.system import seeds
from bertxfer.trials.schemes.scheme import Request, scheme, stream_seed
from bertxfer.trials.treatment import Treatment

SEED = Axis("permutation_seed", int | None, "permutation")
ORDER = Axis("order", Any, "order of the layers")


@scheme(SEED, ORDER)
def permutation(request: Request) -> Treatment:
    every = list(request.every_layer)
    order = _drawn(request, every) if request.axis("order") is None else _explicit(request, every)
    return Treatment(order=() if order == every else tuple(order))


def _drawn(request: Request, every: list[int]) -> list[int]:
    """permutation_seed follows the trial's seed, so that run i has one order for every task."""
    explicit = request.axis("permutation_seed")
    seed = stream_seed(request.config, "permutation") if explicit is None else explicit
    return [every[index] for index in seeds.permutation(request.layers, seed, "permutation")]


def _explicit(request: Request, every: list[int]) -> list[int]:
    if request.axis("permutation_seed") is not None:
        raise ConfigError("order", "an explicit order leaves nothing to permutation_seed; give one of the two")
    value = request.axis("order")
    order = list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(layer, int) for layer in order) or sorted(order) != every:
        raise ConfigError("order", f"{order} does not have each of the layers 1..{request.layers} once")
    return order
