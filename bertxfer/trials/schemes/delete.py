"""One layer, or a list of layers, is taken out, and the others close ranks: the model is that much shorter."""

from bertxfer.errors import ConfigError
from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.schemes.single import LAYER
from bertxfer.trials.treatment import Treatment


@scheme(LAYER)
def delete(request: Request) -> Treatment:
    deleted = request.numbers("layer", request.layers)
    left = tuple(layer for layer in request.every_layer if layer not in deleted)
    if not left:
        raise ConfigError("layer", "no layer would be left; scheme=scratch is a model without pretrained layers")
    return Treatment(order=left)
