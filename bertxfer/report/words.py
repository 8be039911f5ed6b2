"""The papers' words for what configs call by keys: tasks, axes, metrics."""

from collections.abc import Sequence
from typing import Any

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
AXES = {
    "k": "pretrained layers kept (k)",
    "block": "first layer of the block",
    "layer": "layer",
    "head": "attention head",
    "data.n": "finetuning examples",
    "data.fraction": "share of the finetuning examples",
    "probe.layer": "probed layer",
    "probe.removed": "top layers removed",
    "permutation_seed": "permutation",
    "task": "task",
    "intermediate": "intermediate task",
    "epoch": "epochs",
    "step": "iterations",
    "reinit_lr_factor": "learning rate of reinitialized layers",
    "keep_layernorm": "LayerNorm of reinitialized layers",
    "preserve": "block",
    "seed": "seed",
    "treatment": "treatment",
}
METRICS = {
    "accuracy": "accuracy",
    "f1": "F1",
    "macro_f1": "macro F1",
    "matthews_correlation": "Matthews correlation",
    "mean_accuracy_f1": "mean of accuracy and F1",
    "pearson": "Pearson correlation",
    "spearman": "Spearman correlation",
    "mean_pearson_spearman": "mean of Pearson and Spearman",
    "exact_match": "exact match",
}
_VALUES = {
    ("preserve", True): "block preserved",
    ("preserve", False): "block reinitialized",
    ("keep_layernorm", True): "LayerNorm kept",
    ("keep_layernorm", False): "LayerNorm reinitialized",
}


# Columns whose values speak for themselves in a legend.
_TELLING = ("preserve", "keep_layernorm", "reinit_lr_factor", "task", "intermediate", "treatment")


def task(name: str) -> str:
    return TASKS.get(name, name)


def axis(column: str) -> str:
    return AXES.get(column, column)


def legend(columns: Sequence[str]) -> str | None:
    """The title of a legend; none where its values speak for themselves, or are named each."""
    return axis(columns[0]) if len(columns) == 1 and columns[0] not in _TELLING else None


def named(column: str, said: str) -> str:
    """A value that stands beside others: k=6, n=500."""
    return said if column in _TELLING else f"{column.rsplit('.', 1)[-1]}={said}"


def metric(name: str) -> str:
    return METRICS.get(name.removeprefix("metrics."), name.removeprefix("metrics."))


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
    if (column, said) in _VALUES:
        return _VALUES[column, said]
    return f"{said:g}" if isinstance(said, float) else str(said)
