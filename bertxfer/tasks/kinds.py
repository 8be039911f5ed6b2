"""Kinds of tasks: what is predicted of a text. Each kind is declared here whole, but for what needs tensors.

What learning does for a kind (its loss, and what its outputs mean) is in learning/kinds/, in a module of its name.
"""

from dataclasses import dataclass

from bertxfer.config.registry import Registry
from bertxfer.config.schema import Task
from bertxfer.errors import ConfigError
from bertxfer.tasks import metrics


@dataclass(frozen=True)
class Kind:
    name: str
    columns: tuple[int, ...]  # how many columns of text it may have
    columns_in_words: str
    classes: bool  # labels are names of classes
    per_token: bool  # predicts something of every token of a passage, which may be cut into windows
    max_length: int  # in tokens, unless a config says otherwise

    @property
    def metrics(self) -> tuple[str, ...]:
        return tuple(metrics.METRICS[self.name])

    def outputs(self, labels: int) -> int:
        """How many numbers the head gives for a text, or for a token."""
        return labels if self.classes else 2 if self.per_token else 1


KINDS: Registry[Kind] = Registry("task.kind")
for _kind in (
    Kind("classification", (1, 2), "one or two columns", classes=True, per_token=False, max_length=128),
    Kind("regression", (1, 2), "one or two columns", classes=False, per_token=False, max_length=128),
    Kind("span", (2,), "a question and a passage", classes=False, per_token=True, max_length=384),
):
    KINDS.add(_kind.name, _kind)


def check(task: Task) -> None:
    """Raises ConfigError where a task's columns, labels and metrics are not those of its kind."""
    kind = KINDS.named(task.kind)
    for metric in task.metrics:
        if metric not in kind.metrics:
            known = ", ".join(kind.metrics)
            raise ConfigError("task.metrics", f"{metric!r} is not a metric of {kind.name}; choose from {known}")
    if task.headline not in task.metrics:
        raise ConfigError("task.headline", f"{task.headline!r} is not one of task.metrics {list(task.metrics)}")
    if len(task.text) not in kind.columns:
        raise ConfigError("task.text", f"is {list(task.text)}; a task of kind {kind.name} has {kind.columns_in_words}")
    if not kind.classes:
        if task.labels:
            raise ConfigError("task.labels", f"a task of kind {kind.name} has no classes")
        return
    if len(set(task.labels)) < max(2, len(task.labels)):
        raise ConfigError("task.labels", f"{list(task.labels)} are not two or more different names of classes")
    binary = [name for name in task.metrics if metrics.METRICS[kind.name][name].two_classes]
    if len(task.labels) != 2 and binary:
        raise ConfigError("task.metrics", f"{binary[0]} scores the second of two classes; with more, give macro_f1")
