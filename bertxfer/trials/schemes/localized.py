"""A block of consecutive layers is reinitialized, or kept while all others are."""

from bertxfer.config.axes import Axis
from bertxfer.errors import ConfigError
from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment

BLOCK = Axis("block", int | None, "first layer of the block", counts="layers")
SIZE = Axis("block_size", int | None, "layers of the block", counts="layers")
PRESERVE = Axis("preserve", bool | None, "block", values={True: "block preserved", False: "block reinitialized"})


@scheme(BLOCK, SIZE, PRESERVE, parts=True)
def localized(asked: Request) -> Treatment:
    block = _block(asked)
    preserve = asked.given("preserve", "preserve=true or preserve=false")
    return asked.reinitialized(asked.of_layers(layer for layer in asked.every_layer if (layer in block) != preserve))


def _block(asked: Request) -> range:
    size = asked.number("block_size", 0, asked.layers, "block_size=3")
    last = asked.layers - size + 1
    start = asked.given("block", f"block=1..{last}")
    if not 1 <= start <= last:
        raise ConfigError(
            "block", f"{start} is out of range; with block_size={size} on {asked.layers} layers it is 1..{last}"
        )
    return range(start, start + size)
