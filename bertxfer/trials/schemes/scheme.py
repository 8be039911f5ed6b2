"""What a scheme is: its axes, and the operations that a config means by them on a model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from bertxfer.config import axes
from bertxfer.config.axes import Axis
from bertxfer.config.registry import Registry
from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError
from bertxfer.trials.initializer import initializer_of
from bertxfer.trials.normal import Step
from bertxfer.trials.regions import PARTS, Anatomy
from bertxfer.trials.treatment import REINITIALIZE, Operation

Steps = tuple[Step, ...]


@dataclass(frozen=True)
class Scheme:
    name: str
    axes: tuple[str, ...]
    parts: bool  # whether `part` may choose only the attention or only the feed-forward part of its layers
    steps: Callable[["Request"], Steps]


SCHEMES: Registry[Scheme] = Registry("scheme")
Declared = Callable[["Request"], Steps]


def scheme(*declared: Axis, parts: bool = False) -> Callable[[Declared], Declared]:
    """Registers a function from a request to operations as the scheme of the function's name."""

    def register(function: Declared) -> Declared:
        for axis in declared:
            axes.declare(axis)
        name = function.__name__
        SCHEMES.add(name, Scheme(name, tuple(axis.name for axis in declared), parts, function))
        return function

    return register


def steps_of(request: "Request") -> Steps:
    """The operations that the config's scheme and axes mean."""
    chosen = SCHEMES.named(request.config.scheme)
    _refuse_foreign_axes(request.config, chosen)
    return chosen.steps(request)


def stream_seed(config: Config, stream: str) -> int:
    """The seed of one stream: its own if it was given one, else the trial's."""
    explicit: int | None = getattr(config.seeds, stream)
    return config.seed if explicit is None else explicit


class Donor(NamedTuple):
    """Another model of the same shape, whose weights are taken."""

    version: str
    name: str
    same_words: bool  # whether its word pieces are those of the model that takes them


def no_donor(name: str) -> Donor:
    raise ConfigError("donor", f"{name} cannot be looked for here")


@dataclass(frozen=True)
class Request:
    """What a config asks of a scheme, on a model of this anatomy."""

    config: Config
    anatomy: Anatomy
    donor: Callable[[str], Donor] = no_donor  # finds another model by its name or its folder

    @property
    def layers(self) -> int:
        return self.anatomy.layers

    @property
    def heads(self) -> int:
        return self.anatomy.heads

    @property
    def every_layer(self) -> range:
        return self.anatomy.every_layer

    def axis(self, name: str) -> Any:
        """What was typed for an axis; None where nothing was."""
        return getattr(self.config, name)

    def required(self, name: str, example: str) -> Any:
        """What was typed for an axis that the scheme cannot do without."""
        value = self.axis(name)
        if value is None:
            raise ConfigError(name, f"scheme={self.config.scheme} needs it; give {example}")
        return value

    def number(self, name: str, low: int, high: int, example: str | None = None) -> int:
        """A number within a range that the model decides."""
        return _within(name, self.required(name, example or f"{name}={low}..{high}"), low, high)

    def numbers(self, name: str, high: int) -> list[int]:
        """One number or a list of them, each from 1 to `high`, in order and once."""
        value = self.required(name, f"{name}=1..{high}")
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if not values:
            raise ConfigError(name, f"the list is empty; give numbers from 1..{high}")
        for number in values:
            if not isinstance(number, int) or isinstance(number, bool):
                raise ConfigError(name, f"{number!r} is not a whole number; give 1..{high}, or a list of them")
            _within(name, number, 1, high)
        return sorted(set(values))

    def of_layers(self, layers: Iterable[int]) -> tuple[str, ...]:
        """The regions of these layers, or of the part of them that is asked for."""
        parts = PARTS if self.config.part == "all" else (self.config.part,)
        return tuple(f"layer {layer} {part}" for layer in layers for part in parts)

    def reinitialized(self, regions: tuple[str, ...]) -> Steps:
        """These regions reinitialized, as `init` and its companions say."""
        return (Operation(REINITIALIZE, regions, initializer_of(self.config)),) if regions else ()


def _refuse_foreign_axes(config: Config, chosen: Scheme) -> None:
    for axis in axes.AXES:
        if getattr(config, axis) is not None and axis not in chosen.axes:
            owners = " or ".join(f"scheme={scheme.name}" for scheme in SCHEMES.values() if axis in scheme.axes)
            has = f"has {', '.join(chosen.axes)}" if chosen.axes else "has no axes"
            raise ConfigError(axis, f"is an axis of {owners}, but scheme={chosen.name} {has}")
    if config.part != "all" and not chosen.parts:
        with_parts = ", ".join(scheme.name for scheme in SCHEMES.values() if scheme.parts and scheme.axes)
        raise ConfigError("part", f"scheme={chosen.name} has no parts; it goes with {with_parts}")


def _within(axis: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigError(axis, f"{value} is out of range; on this model it is {low}..{high}")
    return value
