"""The pretrained layers in another order: one that is drawn, or one that is given."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.errors import ConfigError
from bertxfer.system import seeds
from bertxfer.trials.normal import Arrangement
from bertxfer.trials.schemes.scheme import Request, Steps, scheme, stream_seed

SEED = Axis("permutation_seed", int | None, "permutation")
ORDER = Axis("order", Any, "order of the layers")


@scheme(SEED, ORDER)
def permutation(request: Request) -> Steps:
    given = request.axis("order") is not None
    return (Arrangement(_explicit(request) if given else drawn_order(request)),)


def drawn_order(request: Request) -> tuple[int, ...]:
    """permutation_seed follows the trial's seed, so that run i has one order for every task."""
    explicit = request.axis("permutation_seed")
    seed = stream_seed(request.config, "permutation") if explicit is None else explicit
    return tuple(index + 1 for index in seeds.permutation(request.layers, seed, "permutation"))


def _explicit(request: Request) -> tuple[int, ...]:
    if request.axis("permutation_seed") is not None:
        raise ConfigError("order", "an explicit order leaves nothing to permutation_seed; give one of the two")
    value = request.axis("order")
    order = list(value) if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(layer, int) for layer in order) or sorted(order) != list(request.every_layer):
        raise ConfigError("order", f"{order} does not have each of the layers 1..{request.layers} once")
    return tuple(order)
