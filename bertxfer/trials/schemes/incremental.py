"""Layers 1..k keep their pretrained weights, the layers above are reinitialized."""

from bertxfer.config.axes import Axis
from bertxfer.trials.schemes.scheme import Request, Steps, scheme

K = Axis("k", int | None, "pretrained layers kept (k)", counts="layers")


@scheme(K, parts=True)
def incremental(request: Request) -> Steps:
    k = request.number("k", 0, request.layers)
    return request.reinitialized(request.of_layers(layer for layer in request.every_layer if layer > k))
