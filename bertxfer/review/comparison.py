"""What became of each trial between two listings: added, removed, changed or kept. Pure: it reads no file.

Trials are identified by their ids. Where an id is gone and another one stands at the same point of the grid, the trial
has changed. The axes that vary in either revision say which point that is.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bertxfer.config.axes import AXES
from bertxfer.review.listing import Broken, ListedPoint, Listing

# What a scientific key is made of, where it is not simply the config key of the same name.
_MADE_OF: dict[str, tuple[str, ...]] = {
    "treatment": ("scheme", *AXES, "part", "init", "keep_layernorm", "reinit_lr_factor", "seed", "seeds"),
    "seeds": ("seed", "seeds", "permutation_seed"),
    "data": ("data", "task.default_n", "task.kind", "model.positions"),
    "task": ("task", "data.root"),
    "model": ("model", "task.kind"),
    "chain": ("intermediate", "intermediate_mode", "treat_before", "task", "data", "optimizer", "training"),
    "probe": ("probe",),
}

# How two parts differ, by their `id()`; the parts are kept too, so that no other object gets the same `id()`.
Known = dict[tuple[str, int, int], tuple[dict[str, tuple[Any, Any]], Any, Any]]


@dataclass(frozen=True)
class Difference:
    """A resolved key that has another value."""

    key: str
    old: Any
    new: Any


@dataclass(frozen=True)
class Changed:
    """Trials that changed in the same way: their points before and now."""

    differences: tuple[Difference, ...]
    pairs: list[tuple[ListedPoint, ListedPoint]]


@dataclass(frozen=True)
class Comparison:
    """One experiment, under its name before (`was`) and now; null where there was none, or is none any more."""

    was: str | None
    now: str | None
    added: list[ListedPoint] = field(default_factory=list)
    removed: list[ListedPoint] = field(default_factory=list)
    changed: list[Changed] = field(default_factory=list)
    kept: int = 0
    broken_before: Broken | None = None
    broken_now: Broken | None = None

    @property
    def name(self) -> str:
        return self.now or self.was or ""

    @property
    def changes(self) -> int:
        return len(self.added) + len(self.removed) + sum(len(group.pairs) for group in self.changed)

    @property
    def broken(self) -> bool:
        return self.broken_before is not None or self.broken_now is not None


def compare(old: Listing, new: Listing) -> list[Comparison]:
    """Every experiment of either listing."""
    before, now = old.experiments, new.experiments
    renamed = _renamed(before, now)
    comparisons = []
    for name in sorted({*before, *now} - set(renamed)):
        was = next((gone for gone, came in renamed.items() if came == name), name if name in before else None)
        comparisons.append(_compare_one(was, name if name in now else None, before.get(was or ""), now.get(name)))
    return comparisons


def _compare_one(
    was: str | None,
    now: str | None,
    before: list[ListedPoint] | Broken | None,
    after: list[ListedPoint] | Broken | None,
) -> Comparison:
    if isinstance(before, Broken) or isinstance(after, Broken):
        return Comparison(
            was,
            now,
            broken_before=before if isinstance(before, Broken) else None,
            broken_now=after if isinstance(after, Broken) else None,
        )
    before, after = before or [], after or []
    kept = {point.id for point in before} & {point.id for point in after}
    gone, came = (_distinct(point for point in points if point.id not in kept) for points in (before, after))
    varying = _varying(before) | _varying(after)
    gone_at: dict[str, list[ListedPoint]] = {}
    for point in gone:
        gone_at.setdefault(_position(point, varying), []).append(point)
    added: list[ListedPoint] = []
    groups: dict[str, Changed] = {}
    known: Known = {}
    for point in came:
        gone_there = gone_at.get(_position(point, varying))
        if not gone_there:
            added.append(point)
            continue
        pair = (gone_there.pop(0), point)
        differences = differences_of(*pair, known)
        groups.setdefault(repr(differences), Changed(differences, [])).pairs.append(pair)
    removed = [point for points in gone_at.values() for point in points]
    return Comparison(was, now, added, removed, list(groups.values()), len(kept))


def differences_of(old: ListedPoint, new: ListedPoint, known: Known | None = None) -> tuple[Difference, ...]:
    """The resolved keys by which two trials differ, as a config names them."""
    known = {} if known is None else known
    science = _differing(old.science, new.science, known)
    config = _differing(old.config, new.config, known)
    shown = {key: values for key, values in config.items() if key in science}
    for key in science:
        if key in shown:
            continue
        causes = [name for name in config if any(_within(name, part) for part in _MADE_OF.get(key.split(".")[0], ()))]
        if causes:
            shown.update({name: config[name] for name in causes})
        else:
            shown[key] = science[key]
    return tuple(Difference(key, *values) for key, values in sorted(shown.items()))


def lookup(config: Mapping[str, Any], key: str) -> Any:
    """The value of a key of a resolved config; of a group, the name that its option has."""
    value: Any = config
    for name in key.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value.get("name") if isinstance(value, Mapping) else value


def _renamed(before: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """Experiments that were only renamed: at least half of the trials of both are the same."""
    renamed: dict[str, str] = {}
    for came in sorted(set(now) - set(before)):
        best, share = None, 0.5
        for gone in sorted(set(before) - set(now) - set(renamed)):
            overlap = _overlap(before[gone], now[came])
            if overlap >= share:
                best, share = gone, overlap
        if best is not None:
            renamed[best] = came
    return renamed


def _overlap(one: list[ListedPoint] | Broken, other: list[ListedPoint] | Broken) -> float:
    if isinstance(one, Broken) or isinstance(other, Broken):
        return 0.0
    ids, others = {point.id for point in one}, {point.id for point in other}
    return len(ids & others) / max(1, len(ids | others))


def _distinct(points: Iterable[ListedPoint]) -> list[ListedPoint]:
    by_id: dict[str, ListedPoint] = {}
    for point in points:
        by_id.setdefault(point.id, point)
    return list(by_id.values())


def _varying(points: Sequence[ListedPoint]) -> set[str]:
    keys = {key for point in points for key in point.axes}
    return {key for key in keys if len({json.dumps(point.axes.get(key, "?")) for point in points}) > 1}


def _position(point: ListedPoint, varying: set[str]) -> str:
    values = {key: point.axes[key] if key in point.axes else lookup(point.config, key) for key in varying}
    return json.dumps(values, sort_keys=True)


def _differing(old: Mapping[str, Any], new: Mapping[str, Any], known: Known) -> dict[str, tuple[Any, Any]]:
    """Part by part; thousands of points share their parts, so each pair of parts is compared once."""
    differing: dict[str, tuple[Any, Any]] = {}
    for name in {**old, **new}:
        one, other = old.get(name), new.get(name)
        pair = (name, id(one), id(other))
        if pair not in known:
            before, now = dict(_flat({name: one})), dict(_flat({name: other}))
            keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]
            known[pair] = ({key: (before.get(key), now.get(key)) for key in keys}, one, other)
        differing.update(known[pair][0])
    return differing


def _flat(value: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, Mapping) and item:
            yield from _flat(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item


def _within(key: str, part: str) -> bool:
    return key == part or key.startswith(f"{part}.")
