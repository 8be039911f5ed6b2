"""One layer, or a list of layers, is taken out, and the others close ranks: the model is that much shorter."""

from bertxfer.errors import ConfigError
from bertxfer.trials.normal import Arrangement
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.schemes.single import LAYER


@scheme(LAYER)
def delete(request: Request) -> Steps:
    deleted = request.numbers("layer", request.layers)
    left = tuple(layer for layer in request.every_layer if layer not in deleted)
    if not left:
        raise ConfigError("layer", "no layer would be left; scheme=scratch is a model without pretrained layers")
    return (Arrangement(left),)
