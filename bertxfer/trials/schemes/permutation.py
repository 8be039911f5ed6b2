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
def permutation(asked: Request) -> Treatment:
    every = list(asked.every_layer)
    order = _drawn(asked, every) if asked.axis("order") is None else _given(asked, every)
    return Treatment(order=() if order == every else tuple(order))


def _drawn(asked: Request, every: list[int]) -> list[int]:
    """permutation_seed follows the trial's seed, so that run i has one order for every task."""
    own = asked.axis("permutation_seed")
    seed = stream_seed(asked.config, "permutation") if own is None else own
    return [every[place] for place in seeds.permutation(asked.layers, seed, "permutation")]


def _given(asked: Request, every: list[int]) -> list[int]:
    if asked.axis("permutation_seed") is not None:
        raise ConfigError("order", "an explicit order leaves nothing to permutation_seed; give one of the two")
    asked_order = asked.axis("order")
    order = list(asked_order) if isinstance(asked_order, (list, tuple)) else [asked_order]
    if sorted(map(str, order)) != sorted(map(str, every)):
        raise ConfigError("order", f"{order} does not have each of the layers 1..{asked.layers} once")
    return order
