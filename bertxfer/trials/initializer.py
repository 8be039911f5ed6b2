"""How weights are reinitialized, as a config asks for it."""

from dataclasses import dataclass

from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError


@dataclass(frozen=True)
class Initializer:
    """How tensors are reinitialized. `cut` is in units of sd, as scipy's truncnorm takes it."""

    distribution: str
    sd: float | None = None
    cut: float | None = None
    biases: str = "zero"
    layernorm: str = "reset"


def initializer_of(config: Config) -> Initializer:
    """What `init` and `keep_layernorm` mean. A distribution has only the parameters that it uses."""
    init = config.init
    sd = None if init.distribution == "shuffle" else _required("init.sd", init.sd)
    cut = _required("init.cut", init.cut) if init.distribution == "truncated_normal" else None
    biases, layernorm = init.biases, "keep" if config.keep_layernorm else init.layernorm
    if init.distribution == "shuffle":  # drawing from a tensor's own values is shuffling them
        biases, layernorm = ("shuffle" if rule == "draw" else rule for rule in (biases, layernorm))
    return Initializer(init.distribution, sd, cut, biases, layernorm)


def _required(key: str, value: float | None) -> float:
    if value is None:
        raise ConfigError(key, "has no value, and the distribution needs one; give a positive number")
    return float(value)
