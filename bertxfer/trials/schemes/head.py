"""Attention heads are reinitialized: rows of query, key and value, columns of the attention output's weight."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.schemes.single import LAYER

HEAD = Axis("head", Any, "attention head", counts="heads")


@scheme(LAYER, HEAD)
def head(request: Request) -> Steps:
    heads = request.numbers("head", request.heads)
    layers = request.numbers("layer", request.layers)
    return request.reinitialized(tuple(f"layer {layer} head {head}" for layer in layers for head in heads))
