"""Treatments: what is done to the pretrained weights, as plain data, decided without torch.

What every scheme does to the parts around the layers is stated here once:
- embeddings: kept, except by `scratch`, which redraws them;
- pooler: kept pretrained where the model has one, except by `scratch`;
- classifier: always new, drawn from the `head` stream, the same for the same seed under every scheme.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

from bertxfer.config.schema import Config
from bertxfer.errors import ConfigError
from bertxfer.system import seeds

AXES: dict[str, tuple[str, ...]] = {
    "baseline": (),
    "incremental": ("k",),
    "localized": ("block", "block_size", "preserve"),
    "single": ("layer",),
    "head": ("layer", "head"),
    "permutation": ("permutation_seed", "order"),
    "scratch": (),
    "sequential": (),
}
PARTS = ("attention", "feedforward")


@dataclass(frozen=True)
class Initializer:
    """How tensors are redrawn. `cut` is in units of sd, as scipy's truncnorm takes it."""

    distribution: str
    sd: float | None = None
    cut: float | None = None
    biases: str = "zero"
    layernorm: str = "reset"


@dataclass(frozen=True)
class Treatment:
    """Equal treatments are the same experiment, whatever scheme they were asked for by.

    `order` has at position i the pretrained layer that stands there; empty: as pretrained.
    `redrawn` names regions: "embeddings", "pooler", "layer 3 attention", "layer 3 feedforward", "layer 3 head 5".
    """

    order: tuple[int, ...] = ()
    redrawn: tuple[str, ...] = ()
    initializer: Initializer | None = None
    lr_factor: float = 1.0


def treatment_of(config: Config, layers: int, heads: int) -> Treatment:
    """The treatment that the config's scheme and axes mean on a model of that many layers and heads."""
    _refuse_foreign_axes(config)
    if config.scheme == "permutation":
        return Treatment(order=_order(config, layers))
    redrawn = _redrawn(config, layers, heads)
    if not redrawn:
        return Treatment()
    initializer = _initializer(config)
    if all(" head " in region for region in redrawn):  # a head has no LayerNorm
        initializer = replace(initializer, layernorm="keep")
    if not 0 < config.reinit_lr_factor < math.inf:
        raise ConfigError("reinit_lr_factor", f"{config.reinit_lr_factor} is not a positive factor")
    return Treatment(redrawn=redrawn, initializer=initializer, lr_factor=float(config.reinit_lr_factor))


def describe(treatment: Treatment) -> str:
    """The treatment in a table's few words."""
    if treatment.order:
        return "order " + " ".join(map(str, treatment.order))
    if treatment.initializer is None:
        return "as pretrained"
    init = treatment.initializer
    words = "everything redrawn" if "embeddings" in treatment.redrawn else f"{_areas(treatment.redrawn)} redrawn"
    standard = Initializer("truncated_normal", 0.02, 2.0)
    if (init.distribution, init.sd, init.cut) != (standard.distribution, standard.sd, standard.cut):
        details = [f"{k}={v:g}" for k, v in (("sd", init.sd), ("cut", init.cut)) if v is not None]
        words += ", " + " ".join([init.distribution.replace("_", " "), *details])
    usual = ("shuffle", "shuffle") if init.distribution == "shuffle" else ("zero", "reset")
    said = {"keep": "kept", "shuffle": "shuffled", "zero": "set to 0", "reset": "set to 1 and 0"}
    if init.biases != usual[0]:
        words += f", biases {said[init.biases]}"
    if init.layernorm != usual[1] and " head " not in treatment.redrawn[0]:
        words += f", LayerNorm {said[init.layernorm]}"
    if treatment.lr_factor != 1:
        words += f", lr x{treatment.lr_factor:g}"
    return words


def _refuse_foreign_axes(config: Config) -> None:
    if config.scheme not in AXES:
        raise ConfigError("scheme", f"{config.scheme!r} is not a scheme; choose one of {', '.join(AXES)}")
    own = AXES[config.scheme]
    for axis in dict.fromkeys(axis for axes in AXES.values() for axis in axes):
        if getattr(config, axis) is not None and axis not in own:
            owners = " or ".join(f"scheme={scheme}" for scheme, axes in AXES.items() if axis in axes)
            has = f"has {', '.join(own)}" if own else "has no axes"
            raise ConfigError(axis, f"is an axis of {owners}, but scheme={config.scheme} {has}")
    if config.part not in ("all", *PARTS):
        raise ConfigError("part", f"{config.part!r} is not a part of a layer; choose all, attention or feedforward")
    if config.part != "all" and config.scheme in ("head", "permutation", "scratch", "sequential"):
        raise ConfigError("part", f"scheme={config.scheme} has no parts; it goes with incremental, localized, single")
    if config.scheme == "head" and config.reinit_lr_factor != 1:
        raise ConfigError(
            "reinit_lr_factor", "a head is part of larger tensors, which have one learning rate; leave it 1"
        )


def _redrawn(config: Config, layers: int, heads: int) -> tuple[str, ...]:
    every = range(1, layers + 1)
    if config.scheme in ("baseline", "sequential"):
        return ()
    if config.scheme == "incremental":
        k = _within("k", _given(config, "k", f"k=0..{layers}"), 0, layers)
        return _layer_regions([layer for layer in every if layer > k], config.part)
    if config.scheme == "localized":
        block = _block(config, layers)
        preserve = _given(config, "preserve", "preserve=true or preserve=false")
        return _layer_regions([layer for layer in every if (layer in block) != preserve], config.part)
    if config.scheme == "single":
        return _layer_regions(_numbers(config, "layer", layers), config.part)
    if config.scheme == "head":
        chosen = _numbers(config, "head", heads)
        return tuple(f"layer {layer} head {head}" for layer in _numbers(config, "layer", layers) for head in chosen)
    return ("embeddings", *_layer_regions(every, "all"), "pooler")


def _block(config: Config, layers: int) -> range:
    size = _within("block_size", _given(config, "block_size", "block_size=3"), 0, layers)
    last = layers - size + 1
    start = _given(config, "block", f"block=1..{last}")
    if not 1 <= start <= last:
        raise ConfigError(
            "block", f"{start} is out of range; with block_size={size} on {layers} layers it is 1..{last}"
        )
    return range(start, start + size)


def _order(config: Config, layers: int) -> tuple[int, ...]:
    every = list(range(1, layers + 1))
    if config.order is not None:
        if config.permutation_seed is not None:
            raise ConfigError("order", "an explicit order leaves nothing to permutation_seed; give one of the two")
        order = list(config.order) if isinstance(config.order, (list, tuple)) else [config.order]
        if sorted(map(str, order)) != sorted(map(str, every)):
            raise ConfigError("order", f"{order} does not have each of the layers 1..{layers} once")
    else:
        seed = stream_seed(config, "permutation")
        order = [every[i] for i in seeds.permutation(layers, seed, "permutation")]
    return () if order == every else tuple(order)


def stream_seed(config: Config, stream: str) -> int:
    """The seed of one stream: its own if it was given one, else the trial's."""
    if stream == "permutation" and config.permutation_seed is not None:
        return config.permutation_seed
    own: int | None = getattr(config.seeds, stream)
    return config.seed if own is None else own


def _initializer(config: Config) -> Initializer:
    init = config.init
    for key, allowed in (
        ("distribution", ("truncated_normal", "normal", "shuffle")),
        ("biases", ("zero", "keep", "shuffle")),
        ("layernorm", ("reset", "keep", "shuffle")),
    ):
        if getattr(init, key) not in allowed:
            raise ConfigError(f"init.{key}", f"{getattr(init, key)!r} is not one of {', '.join(allowed)}")
    sd = cut = None
    if init.distribution != "shuffle":
        sd = _positive("init.sd", init.sd)
    if init.distribution == "truncated_normal":
        cut = _positive("init.cut", init.cut)
    layernorm = "keep" if config.keep_layernorm else init.layernorm
    return Initializer(init.distribution, sd, cut, init.biases, layernorm)


def _layer_regions(layers: Any, part: str) -> tuple[str, ...]:
    parts = PARTS if part == "all" else (part,)
    return tuple(f"layer {layer} {part}" for layer in layers for part in parts)


def _given(config: Config, axis: str, example: str) -> int:
    value: int | None = getattr(config, axis)
    if value is None:
        raise ConfigError(axis, f"scheme={config.scheme} needs it; give {example}")
    return value


def _within(axis: str, value: int, low: int, high: int) -> int:
    if not low <= value <= high:
        raise ConfigError(axis, f"{value} is out of range; on this model it is {low}..{high}")
    return value


def _numbers(config: Config, axis: str, high: int) -> list[int]:
    """One number or a list of them, each from 1 to `high`, in order and once."""
    value: Any = _given(config, axis, f"{axis}=1..{high}")
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    if not values:
        raise ConfigError(axis, f"the list is empty; give numbers from 1..{high}")
    for number in values:
        if not isinstance(number, int) or isinstance(number, bool):
            raise ConfigError(axis, f"{number!r} is not a whole number; give 1..{high}, or a list of them")
        _within(axis, number, 1, high)
    return sorted(set(values))


def _positive(key: str, value: float | None) -> float:
    if value is None or not 0 < value < math.inf:
        raise ConfigError(key, f"{value} is not a positive number")
    return float(value)


def _areas(regions: tuple[str, ...]) -> str:
    """Regions in few words: "layers 7-12", "layers 1,3 attention", "layer 11 heads 1-3"."""
    parts: dict[int, list[str]] = {}
    for region in regions:
        _, number, what = region.split(" ", 2)
        parts.setdefault(int(number), []).append(what)
    layers: dict[str, list[int]] = {}
    for layer, whats in parts.items():
        layers.setdefault("" if tuple(whats) == PARTS else _part_words(whats), []).append(layer)
    return " and ".join(f"{_spans('layer', numbers)} {words}".strip() for words, numbers in layers.items())


def _part_words(whats: list[str]) -> str:
    heads = [int(what.removeprefix("head ")) for what in whats if what.startswith("head ")]
    return _spans("head", heads) if heads else " ".join(whats)


def _spans(noun: str, numbers: list[int]) -> str:
    """ "layer 3", "layers 3-5,9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    spans = ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{noun}{'s' if len(numbers) > 1 else ''} {spans}"
