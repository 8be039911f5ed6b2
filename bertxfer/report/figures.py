"""What is to be drawn: the `figure:` block of an experiment, checked before anything is read or drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import pandas as pd

from bertxfer.errors import ConfigError

KINDS = (
    "curves",
    "scatter",
    "points",
    "bars",
    "treatments",
    "heads",
    "matrix",
    "loss",
    "epochs",
    "weights",
    "attention",
    "table",
)
INTERVALS = ("t95", "paper_code", "sd2", "none")
_NEED_X = ("curves", "scatter", "bars")


@dataclass(frozen=True)
class Figure:
    """One figure. Columns are those of the frame of results: axes as typed, or keys of the scientific config."""

    kind: str
    x: str | None = None
    series: tuple[str, ...] = ()
    series_labels: dict[Any, str] = field(default_factory=dict)  # the paper's words for values of the series
    facets: str | None = "task"
    y: tuple[str, ...] = ("score",)
    interval: str = "t95"
    where: dict[str, Any] = field(default_factory=dict)  # only these places are drawn
    baseline: dict[str, Any] = field(default_factory=dict)  # the places that differences are taken from
    levels: dict[str, dict[str, Any]] = field(default_factory=dict)  # dashed lines: a name, and the places it averages
    dashed: dict[str, str] = field(default_factory=dict)  # {experiment, x}: another experiment, over the same x
    measure: Any = None  # attention: a measure or several; weights: {reference, module, value}
    title: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    published: str | None = None  # the paper's own numbers; null: those of the experiment's own name
    tables: tuple[str, ...] = ()


def figures_of(block: Any) -> list[Figure]:
    """The figures that a `figure:` block (a mapping or a list of them) asks for; none where it is null."""
    if block is None:
        return []
    return [_figure(one) for one in (block if isinstance(block, list) else [block])]


def guess(results: pd.DataFrame) -> dict[str, Any]:
    """The block that suits a sweep without one, from what its places vary."""

    def varies(column: str) -> bool:
        return column in results and results[column].nunique() > 1

    sizes = [column for column in ("data.n", "data.fraction") if varies(column)]
    schemes = set(results["scheme"].dropna()) if "scheme" in results else set()
    block: dict[str, Any] = {"kind": "treatments", "series": sizes}
    if schemes == {"incremental"} and varies("k"):
        block = {"kind": "curves", "x": "k", "series": sizes}
    elif schemes == {"localized"} and varies("block"):
        block = {"kind": "curves", "x": "block", "series": [*(["preserve"] if varies("preserve") else []), *sizes]}
    elif schemes == {"single"} and varies("layer"):
        block = {"kind": "bars", "x": "layer", "series": sizes}
    return {**block, "tables": ["summary", "differences"]}


def _figure(block: Any) -> Figure:
    if not isinstance(block, Mapping):
        raise ConfigError("figure", f"{block!r} is not a mapping; give at least kind: {KINDS[0]}")
    said = {key: value for key, value in block.items() if value is not None or key == "facets"}
    known = [item.name for item in fields(Figure)]
    for key in said:
        if key not in known:
            raise ConfigError(f"figure.{key}", f"there is no such key; a figure has {', '.join(known)}")
    kind = said.get("kind")
    if kind not in KINDS:
        raise ConfigError("figure.kind", f"{kind!r} is not one of {', '.join(KINDS)}")
    if kind in _NEED_X and not said.get("x"):
        raise ConfigError("figure.x", f"kind={kind} needs the column of its horizontal axis")
    if kind == "heads" and not said.get("baseline"):
        raise ConfigError(
            "figure.baseline", "kind=heads shows differences; say from what: {treatment_text: as pretrained}"
        )
    said.setdefault("interval", "sd2" if kind == "bars" else "t95")
    if said["interval"] not in INTERVALS:
        raise ConfigError("figure.interval", f"{said['interval']!r} is not one of {', '.join(INTERVALS)}")
    for key in ("series", "y", "tables"):
        if key in said:
            value = said[key]
            said[key] = tuple(value) if isinstance(value, (list, tuple)) else (value,)
    return Figure(**said)
