"""An experiment's grids on the model that was chosen: layers and heads by name, stand-ins for tasks, a tiny scale.

Axes here are words as a command line has them, key by key: {"k": ["k=0", "k=6"]}.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bertxfer.config.keys import counting_keys
from bertxfer.config.schema import schema
from bertxfer.errors import ConfigError

Axes = dict[str, list[str]]

_END = r"(\d+|[LH](?:[+-]\d+|/2)?)"
_UNTIL = re.compile(r"(['\"]?)\s*until\s*\\?\((.*?)\\?\)\s*\1")  # quoted or escaped, as Hydra wants it
_MOST_ROUNDS = 1000
_TIED = re.compile(r"seeds\.\w+=seed\+(\d{1,9})")  # a stream's seed that goes with the round's
_LIST = rf"\[{_END}(, ?{_END})*\]"
# What scale=tiny makes of a grid. Sizes stay different from each other, so that curves stay different curves.
TINY_SEEDS, TINY_VALUES, TINY_ROWS, TINY_STEP, TINY_DEV = 2, 4, 16, 8, 32
TINY_FRACTION = 0.0005  # 30 of the mini tasks' 60,000 rows
SCALES = (None, "tiny")


@dataclass(frozen=True)
class Shape:
    layers: int
    heads: int


def has_shape(axes: Axes) -> bool:
    """Whether the axes ask for the model's layers or heads."""
    return any(is_shape_word(word) for words in axes.values() for word in words)


def is_shape_word(word: str) -> bool:
    """Whether a word counts in layers or heads of the model: `k=0..L`, `head=H`."""
    key, _, value = word.partition("=")
    return (
        key in counting_keys(schema())
        and re.fullmatch(rf"{_END}(\.\.{_END})?|{_LIST}", value) is not None
        and re.fullmatch(r"[\d\[\], ]*", value) is None
    )


def is_until(value: str) -> bool:
    """Whether a value is `until(50)`: as many rounds as it takes to decide the claims, and no more than 50."""
    return _UNTIL.fullmatch(value.strip()) is not None


def is_range(value: str) -> bool:
    """Whether a value is `3..9`."""
    return re.fullmatch(r"\d+\.\.\d+", value) is not None


def shaped(axes: Axes, shape: Shape | None) -> Axes:
    """`k=0..L` as all its values, `layer=L-1` as its value, `seed=0..9` as ten seeds."""
    expanded: Axes = {}
    for key, words in axes.items():
        values = [value for word in words for value in _expanded(key, word, shape)]
        expanded[key] = list(dict.fromkeys(values))
        if not values:
            size = f" on a model of {shape.layers} layers and {shape.heads} heads" if shape else ""
            raise ConfigError(key, f"{words[0].split('=', 1)[1]} has no values{size}")
    return expanded


def tied(point: Sequence[str]) -> tuple[str, ...]:
    """A point in which `seeds.order=seed+1000` is 1000 more than the `seed` of the same point."""
    if not any(_TIED.fullmatch(word) for word in point):
        return tuple(point)
    seed = next((word.split("=", 1)[1] for word in point if word.startswith("seed=")), "")
    return tuple(_untied(word, seed) for word in point)


def _untied(word: str, seed: str) -> str:
    more = _TIED.fullmatch(word)
    if more is None:
        return word
    key, _, value = word.partition("=")
    if not seed.isdigit():
        raise ConfigError(key, f"{value} needs a seed in the same grid, or beside it on the command line: seed: 0..9")
    return f"{key}={int(seed) + int(more[1])}"


def stood_in(axes: Axes, stand_ins: Mapping[str, str]) -> Axes:
    """Tasks of the model's own language in place of those it cannot read."""
    return {key: [_renamed(key, word, stand_ins) for word in words] for key, words in axes.items()}


def stand_in_note(model: str, before: Sequence[Axes], after: Sequence[Axes]) -> str | None:
    """A sentence on which tasks stand in for which; None where none do."""
    changes: dict[str, str] = {}
    for old, new in zip(before, after, strict=True):
        for key in ("task", "intermediate"):
            pairs = zip(old.get(key, []), new.get(key, []), strict=True)
            changes |= {a.split("=", 1)[1]: b.split("=", 1)[1] for a, b in pairs if a != b}
    if not changes:
        return None
    return f"model={model}: " + ", ".join(f"{new} stands for {old}" for old, new in changes.items())


def tiny(grids: Sequence[Axes]) -> list[Axes]:
    """The same grids in seconds: few seeds, few values of each axis, few rows, one or two epochs."""
    sizes = {word: f"data.n={TINY_ROWS + TINY_STEP * i}" for i, word in enumerate(_sizes(grids))}
    return [_tiny(grid, sizes) for grid in grids]


def _tiny(grid: Axes, sizes: Mapping[str, str]) -> Axes:
    axes = {key: _few(words, TINY_SEEDS if key == "seed" else TINY_VALUES) for key, words in grid.items()}
    if "data.n" in axes:
        axes["data.n"] = [sizes[word] for word in axes["data.n"]]
    elif "data.fraction" in axes:
        shares = [float(word.split("=", 1)[1]) for word in axes["data.fraction"]]
        axes["data.fraction"] = [f"data.fraction={share * TINY_FRACTION:.8f}" for share in shares]
    else:
        axes["data.n"] = [f"data.n={TINY_ROWS}"]
    epochs = [int(word.split("=", 1)[1]) for word in axes.get("training.epochs", ["=1"])]
    axes["training.epochs"] = list(dict.fromkeys(f"training.epochs={min(n, 1 if n < 10 else 2)}" for n in epochs))
    return {**axes, "data.dev_n": [f"data.dev_n={TINY_DEV}"]}


def _few(words: list[str], most: int) -> list[str]:
    if len(words) <= most:
        return words
    return words[:most] if most < TINY_VALUES else [words[0], words[len(words) // 2], words[-1]]


def _sizes(grids: Sequence[Axes]) -> list[str]:
    """All sizes of training sets in the grids, from the smallest; `all` is the largest."""
    words = {word for grid in grids for word in grid.get("data.n", [])}

    def size(word: str) -> float:
        value = word.split("=", 1)[1]
        return float(value) if value.isdigit() else float("inf")

    return sorted(words, key=size)


def _expanded(key: str, word: str, shape: Shape | None) -> list[str]:
    value = word.split("=", 1)[1] if "=" in word else ""
    if (until := _UNTIL.fullmatch(value.strip())) is not None:
        return [f"{key}={number}" for number in range(_rounds_at_most(key, until[2].strip()))]
    if is_shape_word(word) and value.startswith("["):
        return [f"{key}={re.sub(_END, lambda end: str(_number(end[0], shape)), value)}"]
    match = re.fullmatch(rf"{_END}(?:\.\.{_END})?", value)
    if match is None or value.isdigit() or (key not in counting_keys(schema()) and not is_range(value)):
        return [word]
    first = _number(match[1], shape)
    last = first if match[2] is None else _number(match[2], shape)
    return [f"{key}={number}" for number in range(first, last + 1)]


def _rounds_at_most(key: str, given: str) -> int:
    if key != "seed":
        raise ConfigError(key, f"until({given}) is for seed alone")
    if not re.fullmatch(r"\d{1,6}", given) or not 1 <= int(given) <= _MOST_ROUNDS:
        raise ConfigError(key, f"until({given}): how many rounds at most is a number from 1 to {_MOST_ROUNDS}")
    return int(given)


def _number(end: str, shape: Shape | None) -> int:
    if end.isdigit():
        return int(end)
    assert shape is not None
    whole = shape.layers if end[0] == "L" else shape.heads
    return whole // 2 if end[1:] == "/2" else whole + int(end[1:] or 0)


def _renamed(key: str, word: str, stand_ins: Mapping[str, str]) -> str:
    if key not in ("task", "intermediate"):
        return word
    names = re.sub(r"\w+", lambda name: stand_ins.get(name[0], name[0]), word.split("=", 1)[1])
    return f"{key}={names}"
