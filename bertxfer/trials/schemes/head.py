"""Attention heads are reinitialized: rows of query, key and value, columns of the attention output's weight."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.errors import ConfigError
from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.schemes.single import LAYER
from bertxfer.trials.treatment import Treatment

HEAD = Axis("head", Any, "attention head", counts="heads")


@scheme(LAYER, HEAD)
def head(request: Request) -> Treatment:
    if request.config.reinit_lr_factor != 1:
        raise ConfigError(
            "reinit_lr_factor", "a head is part of larger tensors, which have one learning rate; leave it 1"
        )
    heads = request.numbers("head", request.heads)
    layers = request.numbers("layer", request.layers)
    return request.reinitialized(tuple(f"layer {layer} head {head}" for layer in layers for head in heads))
