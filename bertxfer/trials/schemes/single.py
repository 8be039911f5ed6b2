"""One layer, or a list of single layers, is reinitialized."""

from typing import Any

from bertxfer.config.axes import Axis
from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment

LAYER = Axis("layer", Any, "layer", counts="layers")


@scheme(LAYER, parts=True)
def single(request: Request) -> Treatment:
    return request.reinitialized(request.of_layers(request.numbers("layer", request.layers)))
