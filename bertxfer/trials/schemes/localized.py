"""A block of consecutive layers is reinitialized, or kept while all others are."""

from bertxfer.config.axes import Axis
from bertxfer.errors import ConfigError
from bertxfer.trials.schemes.scheme import Request, Steps, scheme

BLOCK = Axis("block", int | None, "first layer of the block", counts="layers")
SIZE = Axis("block_size", int | None, "layers of the block", counts="layers")
PRESERVE = Axis("preserve", bool | None, "block", values={True: "block preserved", False: "block reinitialized"})


@scheme(BLOCK, SIZE, PRESERVE, parts=True)
def localized(request: Request) -> Steps:
    block = _block(request)
    preserve = request.required("preserve", "preserve=true or preserve=false")
    layers = (layer for layer in request.every_layer if (layer in block) != preserve)
    return request.reinitialized(request.of_layers(layers))


def _block(request: Request) -> range:
    size = request.number("block_size", 0, request.layers, "block_size=3")
    last = request.layers - size + 1
    start = request.required("block", f"block=1..{last}")
    if not 1 <= start <= last:
        raise ConfigError(
            "block", f"{start} is out of range; with block_size={size} on {request.layers} layers it is 1..{last}"
        )
    return range(start, start + size)
