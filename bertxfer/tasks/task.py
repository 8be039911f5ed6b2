"""A task as far as results depend on it: where its rows are, what is read off them, and what is measured."""

from dataclasses import dataclass

from bertxfer.config.keys import later, until


@dataclass(frozen=True)
class SpanScience:
    question_length: int
    answer_length: int
    n_best: int
    null_threshold: float


@dataclass(frozen=True)
class TaskScience:
    name: str
    kind: str
    source: str  # mini, files, hub
    dataset: str | None  # the hub's name for it, and the part of it that is meant
    subset: str | None
    train: str  # a file or a split
    dev: str
    version: str | None  # the digest of the files, or the hub revision
    header: tuple[str, ...]
    text: tuple[str, ...]
    label: str
    labels: tuple[str, ...]
    skip_broken: bool
    span: SpanScience | None  # null where nothing is looked for in a passage
    # The metric by which training stops or chooses its epoch; null where it does neither: a metric that is only looked
    # at changes no number.
    watched: str | None = later(None)
    metrics: tuple[str, ...] | None = until(3)
    headline: str | None = until(3)
