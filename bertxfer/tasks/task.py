"""A task as far as results depend on it: which rows it has, what is predicted of them, and what is watched."""

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
    name: str  # its classifier is drawn by it
    kind: str
    version: str | None  # the digest of its rows as read, in whatever form they came; null: they are generated
    labels: tuple[str, ...]
    span: SpanScience | None  # null where nothing is looked for in a passage
    # The metric by which training stops or chooses its epoch; null where it does neither: a metric that is only looked
    # at changes no number.
    watched: str | None = later(None)
    metrics: tuple[str, ...] | None = until(3)
    headline: str | None = until(3)
    # How rows were found and read, before they were known by their content.
    source: str | None = until(4)
    dataset: str | None = until(4)
    subset: str | None = until(4)
    train: str | None = until(4)
    dev: str | None = until(4)
    header: tuple[str, ...] | None = until(4)
    text: tuple[str, ...] | None = until(4)
    label: str | None = until(4)
    skip_broken: bool | None = until(4)
