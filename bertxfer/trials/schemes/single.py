"""One layer, or a list of single layers, is reinitialized."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.trials.schemes.scheme import Request, Steps, scheme

LAYER = Axis("layer", Any, "layer", counts="layers")


@scheme(LAYER, parts=True)
def single(request: Request) -> Steps:
    return request.reinitialized(request.of_layers(request.numbers("layer", request.layers)))
