"""A figure as an experiment asks for it, every key of its block checked (blocks.py) and filled in."""

from dataclasses import dataclass, field
from typing import Any


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
    center: str = "mean"  # what stands for the trials of a place (centers.py)
    where: dict[str, Any] = field(default_factory=dict)  # only these trials are drawn
    # The trials that differences are taken from: a name, and which they are. One may be given without a name.
    baseline: dict[str, dict[str, Any]] = field(default_factory=dict)
    # The two ends of the table benefit: {none, full}, and the trials of each.
    benefit: dict[str, dict[str, Any]] = field(default_factory=dict)
    levels: dict[str, dict[str, Any]] = field(default_factory=dict)  # dashed lines: a name, and the trials it averages
    dashed: dict[str, str] = field(default_factory=dict)  # {experiment, x}: another experiment, over the same x
    # attention: a measure or several; weights: {reference, module, value}; epochs: score, dev_loss; others: what their
    # kind declares, each of its keys with the words that were chosen.
    measure: Any = None
    epochs: tuple[int, ...] = ()  # the columns of the table by_epoch
    title: str | None = None
    x_label: str | None = None
    y_label: str | None = None
    published: str | None = None  # the paper's own numbers; null: those of the experiment's own name
    tables: tuple[str, ...] = ()
