"""Layers 1..k keep their pretrained weights, the layers above are reinitialized."""

from bertxfer.config.axes import Axis
from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment

K = Axis("k", int | None, "pretrained layers kept (k)", counts="layers")


@scheme(K, parts=True)
def incremental(asked: Request) -> Treatment:
    k = asked.number("k", 0, asked.layers)
    return asked.reinitialized(asked.of_layers(layer for layer in asked.every_layer if layer > k))
