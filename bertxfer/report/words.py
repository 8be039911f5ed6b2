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
# Columns that are not axes of a scheme; those say themselves what figures call them.
COLUMNS = {
    "data.n": "finetuning examples",
    "data.fraction": "share of the finetuning examples",
    "probe.layer": "probed layer",
    "probe.removed": "top layers removed",
    "task": "task",
    "intermediate": "intermediate task",
    "epoch": "epochs",
    "step": "iterations",
    "reinit_lr_factor": "learning rate of reinitialized layers",
    "keep_layernorm": "LayerNorm of reinitialized layers",
    "seed": "seed",
    "treatment": "treatment",
}
_VALUES = {"keep_layernorm": {True: "LayerNorm kept", False: "LayerNorm reinitialized"}}


# Columns whose values speak for themselves in a legend.
_TELLING = ("preserve", "keep_layernorm", "reinit_lr_factor", "task", "intermediate", "treatment")


def task(name: str) -> str:
    return TASKS.get(name, name)


def axis(column: str) -> str:
    return AXES[column].label if column in AXES else COLUMNS.get(column, column)


def legend(columns: Sequence[str]) -> str | None:
    """The title of a legend; none where its values speak for themselves, or are named each."""
    return axis(columns[0]) if len(columns) == 1 and columns[0] not in _TELLING else None


def named(column: str, said: str) -> str:
    """A value that stands beside others: k=6, n=500."""
    return said if column in _TELLING else f"{column.rsplit('.', 1)[-1]}={said}"


def metric(name: str) -> str:
    name = name.removeprefix("metrics.")
    return metrics.named(name).label if any(name in known for known in metrics.METRICS.values()) else name


def value(column: str, said: Any) -> str:
    """A value of a column as a legend says it."""
    if column in ("task", "intermediate"):
        return " → ".join(task(part.strip()) for part in str(said).split(","))
    if column == "data.fraction":
        return f"{100 * float(said):g}%"
    if column == "data.n":
        return "all" if said == "all" else f"{int(said):,}"
    if column == "reinit_lr_factor":
        return "same learning rate" if float(said) == 1 else f"learning rate ×{float(said):g}"
    values = AXES[column].values if column in AXES else _VALUES.get(column, {})
    if said in values:
        return values[said]
    return f"{said:g}" if isinstance(said, float) else str(said)
