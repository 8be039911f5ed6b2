"""Replicates: trials that differ in nothing but their random draws. They, and only they, are averaged.

This is the one rule behind every mean, interval, test and row: the terminal's table, the report's tables and figures,
the bootstrap, `plan` and `export` all group by it. It looks at scientific configs alone.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bertxfer.system import seeds
from bertxfer.trials import chains
from bertxfer.trials.science import Science, nameless

PERMUTED = "layers permuted"


@dataclass(frozen=True)
class Group:
    """What replicates share: all their settings, as one comparable text, and their treatment in a table's words."""

    settings: str
    treatment: str


def groups(sciences: Sequence[Science]) -> list[Group]:
    """The group of each trial.

    An order of the layers that a trial drew from its own seed is a random draw like any other, so such trials are
    replicates. An order that was chosen is a treatment: one that no seed of a trial draws, as with `order=...`, or with
    `permutation_seed` or `seeds.permutation` beside `seed`.
    """
    shared = [json.dumps(_settings(science), sort_keys=True) for science in sciences]
    orders = [science.treatment.order for science in sciences]
    drawn: set[tuple[str, tuple[int, ...]]] = set()
    chosen: set[tuple[str, tuple[int, ...]]] = set()
    for settings, order, science in zip(shared, orders, sciences, strict=True):
        if order:
            (drawn if order_is_drawn(science) else chosen).add((settings, order))
    drawn -= chosen  # the same order under other seeds, too
    draws, with_chosen = Counter(settings for settings, _ in drawn), {settings for settings, _ in chosen}
    grouped = []
    for settings, order, science in zip(shared, orders, sciences, strict=True):
        # A single draw beside chosen orders is one of them.
        pooled = (settings, order) in drawn and (draws[settings] > 1 or settings not in with_chosen)
        treatment = chains.describe(science, PERMUTED if pooled else None)
        shown_order = PERMUTED if pooled else " ".join(map(str, order))
        grouped.append(Group(f"{settings} {shown_order}" if order else settings, treatment))
    return grouped


def order_is_drawn(science: Science) -> bool:
    """Whether the layers stand in the order that one of the trial's own seeds draws."""
    return any(science.treatment.order == _drawn(science.model.layers, seed) for seed in set(science.seeds.values()))


def differing(sciences: Sequence[Science]) -> list[dict[str, str]]:
    """For each trial, the settings that are not the same in all of them, by name; seeds are not settings."""
    flat = [dict(_named(_settings(science))) for science in sciences]
    names = dict.fromkeys(name for settings in flat for name in settings)
    varying = [name for name in names if len({settings.get(name, "null") for settings in flat}) > 1]
    return [{name: settings.get(name, "null") for name in varying} for settings in flat]


def _settings(science: Science) -> dict[str, Any]:
    """A scientific config with what its id leaves out, but without seeds, the order that a seed may draw, and what the
    model is called."""
    plain: dict[str, Any] = json.loads(json.dumps(vars(science), default=vars))
    del plain["seeds"], plain["treatment"]["order"]
    return nameless(plain)


@lru_cache(maxsize=4096)
def _drawn(layers: int, seed: int) -> tuple[int, ...]:
    return tuple(index + 1 for index in seeds.permutation(layers, seed, "permutation"))


def _named(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Every setting under the name that people would call it by: `training.epochs`, `stage 1 data.n`."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "stages":
                for number, stage in enumerate(item, start=1):
                    yield from _named(stage, f"stage {number} ")
            else:
                yield from _named(item, f"{name}{key}" if name.endswith(" ") or not name else f"{name}.{key}")
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(map(str, value))
    else:
        yield name, _word(value)


def _word(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)  # all digits: words tell apart
