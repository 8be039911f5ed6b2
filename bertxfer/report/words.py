"""The papers' words for what configs call by keys: tasks, axes, metrics."""

from collections.abc import Sequence
from typing import Any

from bertxfer.config.axes import AXES
from bertxfer.tasks import metrics

TASKS = {
    "sst2": "SST-2",
    "qnli": "QNLI",
    "cola": "CoLA",
    "mrpc": "MRPC",
    "rte": "RTE",
    "wnli": "WNLI",
    "stsb": "STS-B",
    "qqp": "QQP",
    "mnli": "MNLI-m",
    "mnli_mismatched": "MNLI-mm",
    "squad2": "SQuAD 2.0",
}
# Columns that are not axes of a scheme; an axis has its own label.
COLUMNS = {
    "data.n": "finetuning examples",
    "data.fraction": "share of the finetuning examples",
    "probe.layer": "probed layer",
    "probe.removed": "top layers removed",
    "task": "task",
    "intermediate": "intermediate task",
    "epoch": "epochs",
    "alpha": "from the start (0) to the end (1) of fine-tuning",
    "step": "iterations",
    "reinit_lr_factor": "learning rate of reinitialized layers",
    "keep_layernorm": "LayerNorm of reinitialized layers",
    "seed": "seed",
    "treatment": "treatment",
}
_VALUES = {"keep_layernorm": {True: "LayerNorm kept", False: "LayerNorm reinitialized"}}


_IN_WORDS = ("data.fraction", "intermediate", "preserve", "keep_layernorm", "reinit_lr_factor")
# Columns whose values speak for themselves in a legend.
_SELF_EXPLANATORY = (
    "preserve",
    "keep_layernorm",
    "reinit_lr_factor",
    "task",
    "intermediate",
    "treatment",
    "treatment_text",
    "sweep",
)


def task(name: str) -> str:
    return TASKS.get(name, name)


def axis(column: str) -> str:
    return AXES[column].label if column in AXES else COLUMNS.get(column, column)


def legend(columns: Sequence[str]) -> str | None:
    """The title of a legend; none where its values speak for themselves, or each has its name."""
    return axis(columns[0]) if len(columns) == 1 and columns[0] not in _SELF_EXPLANATORY else None


def named(column: str, label: str) -> str:
    """A value that stands beside others: k=6, n=500."""
    return label if column in _SELF_EXPLANATORY else f"{column.rsplit('.', 1)[-1]}={label}"


def key_of_task(label: str) -> str:
    """The task that is called so in tables."""
    return next((key for key, name in TASKS.items() if name == label), label)


def cell(column: str, text: str) -> str:
    """A cell of a table: tasks, metrics and values of axes as the papers call them."""
    if column in ("task", "final task"):
        return task(text)
    if column == "tasks compared":
        return ", ".join(task(part) for part in text.split(", "))
    if column in ("measure", "metric"):
        return metric(text)
    if column in _IN_WORDS and text not in ("-", ""):
        plain = {"True": True, "False": False}.get(text, text)
        return value(column, plain)
    return text


def metric(name: str) -> str:
    name = name.removeprefix("metrics.")
    return metrics.named(name).label if any(name in known for known in metrics.METRICS.values()) else name


def short_metric(name: str) -> str:
    """For a narrow column of a table."""
    return {"accuracy": "Acc"}.get(name.removeprefix("metrics."), metric(name))


def value(column: str, cell: Any) -> str:
    """A value of a column as a legend shows it."""
    if column in ("task", "intermediate"):
        return " → ".join(task(part.strip()) for part in str(cell).split(","))
    if column == "data.fraction":
        return f"{100 * float(cell):g}%"
    if column == "data.n":
        return "all" if cell == "all" else f"{int(cell):,}"
    if column == "reinit_lr_factor":
        return "same learning rate" if float(cell) == 1 else f"learning rate ×{float(cell):g}"
    values = AXES[column].values if column in AXES else _VALUES.get(column, {})
    if cell in values:
        return values[cell]
    return f"{cell:g}" if isinstance(cell, float) else str(cell)
