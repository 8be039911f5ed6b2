"""The `figure:` block of an experiment, checked before anything is read or drawn."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from bertxfer.errors import ConfigError
from bertxfer.report.centers import CENTERS
from bertxfer.report.figure import Figure
from bertxfer.report.intervals import INTERVALS
from bertxfer.report.kinds import KINDS, Kind
from bertxfer.report.statistics import THE_BASELINE
from bertxfer.tasks.metrics import METRICS


def figures_of(block: Any, typed: Mapping[str, Any] | None = None) -> list[Figure]:
    """The figures that a `figure:` block (a mapping or a list of them) asks for; none where it is null. What was typed
    holds for each of them."""
    if block is None:
        return []
    return [_figure(_with(one, typed or {})) for one in (block if isinstance(block, list) else [block])]


def _with(block: Any, typed: Mapping[str, Any]) -> Any:
    """The block with keys as they are typed: `interval`, and `where.task` within another."""
    if not isinstance(block, Mapping):
        return block
    changed = dict(block)
    for key, value in typed.items():
        name, _, inner = key.partition(".")
        changed[name] = _with(changed.get(name) or {}, {inner: value}) if inner else value
    return changed


def guess(results: pd.DataFrame) -> dict[str, Any]:
    """The block that suits a sweep without one, from what varies in it: that of the first kind that suits."""
    sizes = [column for column in ("data.n", "data.fraction") if column in results and results[column].nunique() > 1]
    for kind in KINDS.values():
        block = kind.suits(results)
        if block is not None:
            series = [*block.get("series", []), *sizes]
            return {"kind": kind.name, **block, "series": series, "tables": ["summary", "differences"]}
    raise AssertionError("some kind suits any sweep")


def _figure(block: Any) -> Figure:
    if not isinstance(block, Mapping):
        raise ConfigError("figure", f"{block!r} is not a mapping; give at least kind: {next(iter(KINDS))}")
    settings = {key: value for key, value in block.items() if value is not None or key == "facets"}
    known = [item.name for item in fields(Figure)]
    for key in settings:
        if key not in known:
            raise ConfigError(f"figure.{key}", f"there is no such key; a figure has {', '.join(known)}")
    if settings.get("kind") not in KINDS:
        raise ConfigError("figure.kind", f"{settings.get('kind')!r} is not one of {', '.join(KINDS)}")
    kind = KINDS[settings["kind"]]
    for key, why in kind.needs.items():
        if not settings.get(key):
            raise ConfigError(f"figure.{key}", f"kind={kind.name} {why}")
    _check_center(settings, kind)
    settings.setdefault("interval", kind.interval)
    if settings["interval"] not in INTERVALS:
        raise ConfigError("figure.interval", f"{settings['interval']!r} is not one of {', '.join(INTERVALS)}")
    for key in ("series", "y", "epochs", "tables"):
        if key in settings:
            value = settings[key]
            settings[key] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    for name in settings.get("y", ()):
        if name != "score" and not _is_metric(str(name)):
            raise ConfigError("figure.y", f"{name!r} is neither score nor a metric, as metrics.accuracy is")
    for epoch in settings.get("epochs", ()):
        if type(epoch) is not int or epoch < 1:
            raise ConfigError("figure.epochs", f"{epoch!r} is not an epoch; give whole numbers from 1 on: [3, 5, 10]")
    settings["baseline"] = _baselines(settings.get("baseline", {}))
    _check_ends(settings.get("benefit", {}))
    if kind.measures:
        settings["measure"] = _measure(settings.get("measure") or {}, kind)
    if kind.x is not None:
        settings["x"] = kind.x
    return Figure(**settings)


def _check_ends(given: Any) -> None:
    """The share of a benefit is told between two ends, and which is which must be said."""
    shape = isinstance(given, Mapping) and all(isinstance(where, Mapping) and where for where in given.values())
    if given and not (shape and set(given) == {"none", "full"}):
        example = "{none: {scheme: scratch}, full: {treatment_text: as pretrained}}"
        raise ConfigError("figure.benefit", f"{given!r} is not two selections; give for example {example}")


def _is_metric(name: str) -> bool:
    of_kinds = (known for kind in METRICS.values() for known in kind)
    return name.startswith("metrics.") and name.removeprefix("metrics.") in of_kinds


def _measure(given: Any, kind: Kind) -> dict[str, tuple[str, ...]]:
    """Every key of a kind's `measure`, each with the words that were chosen."""
    plain = given if isinstance(given, Mapping) else {next(iter(kind.measures)): given}
    for key in plain:
        if key not in kind.measures:
            known = ", ".join(kind.measures)
            raise ConfigError(f"figure.measure.{key}", f"there is no such key; kind={kind.name} has {known}")
    chosen = {}
    for key, choice in kind.measures.items():
        value = plain.get(key)
        words = choice.usual if value is None else tuple(value) if isinstance(value, (list, tuple)) else (value,)
        for word in words:
            if word not in choice.options:
                raise ConfigError(f"figure.measure.{key}", f"{word!r} is not one of {', '.join(choice.options)}")
        if not words or (len(words) > 1 and not choice.several):
            raise ConfigError(f"figure.measure.{key}", f"takes one of {', '.join(choice.options)}")
        chosen[key] = words
    return chosen


def _check_center(settings: dict[str, Any], kind: Kind) -> None:
    """A median has its range and a maximum nothing: an interval of means around them would mean nothing."""
    center = settings.get("center", "mean")
    if center not in CENTERS:
        raise ConfigError("figure.center", f"{center!r} is not one of {', '.join(CENTERS)}")
    if center == "mean":
        return
    if not kind.any_center:
        raise ConfigError("figure.center", f"kind={kind.name} can only show means, not {center}")
    if "interval" in settings:
        named = settings["interval"]
        raise ConfigError("figure.interval", f"{named!r} is of means; center={center} has none: figure.interval=null")
    settings["interval"] = "none"


def _baselines(given: Any) -> dict[str, dict[str, Any]]:
    """One selection, as {k: 0}, or several by name, as {embeddings only: {k: 0}}."""
    if not isinstance(given, Mapping):
        raise ConfigError("figure.baseline", f"{given!r} is not a mapping; give for example {{k: 0}}")
    nested = [isinstance(value, Mapping) for value in given.values()]
    if any(nested) and not all(nested):
        raise ConfigError(
            "figure.baseline", f"{', '.join(map(str, given))}: either all are names of selections, or none is"
        )
    if not given:
        return {}
    return {str(name): dict(where) for name, where in given.items()} if all(nested) else {THE_BASELINE: dict(given)}
