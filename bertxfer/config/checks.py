"""Refusals: a config that cannot be run is told so by key, before anything heavy is imported."""

from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

from bertxfer.config.schema import Config, Task
from bertxfer.errors import ConfigError

# The names of the metrics that fit what a task predicts; metrics.py computes them.
METRICS = {
    "classification": ("accuracy", "f1", "macro_f1", "matthews_correlation", "mean_accuracy_f1"),
    "regression": ("pearson", "spearman", "mean_pearson_spearman", "mse"),
    "span": (
        "exact_match",
        "f1",
        "exact_match_answerable",
        "f1_answerable",
        "exact_match_unanswerable",
        "f1_unanswerable",
    ),
}
# Packages, and the extras that install them; tracking.py logs to them.
TRACKERS = ("tensorboard", "mlflow", "wandb")
_CHOICES = {
    "task.kind": tuple(METRICS),
    "task.source": ("rows", "mini"),
    "model.pooling": ("cls", "mean"),
    "optimizer.name": ("adam", "adamw"),
    "training.schedule": ("linear", "cosine", "constant"),
    "training.report": ("last", "best"),
    "training.precision": ("fp32", "bf16", "tf32"),
    "training.stop": (None, "dev_score", "train_loss", "holdout_loss"),
    "intermediate_mode": ("chain", "interleave"),
    "treat_before": ("first", "last"),
    "probe.features": (None, "mean", "cls"),
    "runtime.device": ("auto", "cuda", "mps", "cpu"),
}
# lowest, highest (null: none), and whether the lowest itself is allowed
_RANGES: dict[str, tuple[float, float | None, bool]] = {
    "model.dropout": (0, 1, True),
    "data.fraction": (0, 1, False),
    "data.dev_n": (1, None, True),
    "data.max_length": (3, None, True),
    "data.stride": (0, None, True),
    "task.span.question_length": (1, None, True),
    "task.span.answer_length": (1, None, True),
    "task.span.n_best": (1, None, True),
    "optimizer.lr": (0, None, False),
    "optimizer.beta1": (0, 1, True),
    "optimizer.beta2": (0, 1, True),
    "optimizer.eps": (0, None, False),
    "optimizer.weight_decay": (0, None, True),
    "training.epochs": (0, None, True),
    "training.batch_size": (1, None, True),
    "training.accumulate": (1, None, True),
    "training.clip": (0, None, False),
    "training.warmup": (0, 1, True),
    "training.patience": (1, None, True),
    "probe.holdout": (0, 0.9, False),
    "artifacts.max_gb": (0, None, False),
    "runtime.threads": (1, None, True),
    "runtime.checkpoint_seconds": (0, None, True),
}
_LARGEST = 1e300  # also of whole numbers, which have no end of their own


def check(config: Config) -> None:
    """Raises ConfigError for the first value that cannot be run."""
    for key, choices in _CHOICES.items():
        value = _value(config, key)
        if value not in choices and not (key == "runtime.device" and str(value).startswith("cuda:")):
            raise ConfigError(key, f"{value!r} is not one of {', '.join('null' if c is None else c for c in choices)}")
    for key, (low, high, inclusive) in _RANGES.items():
        value = _value(config, key)
        if value is None:
            continue
        if not -_LARGEST < value < _LARGEST:
            raise ConfigError(key, f"{value} is not a finite number")
        if not (value >= low if inclusive else value > low) or (high is not None and value > high):
            bound = f"{'at least' if inclusive else 'more than'} {low:g}" + (f" and at most {high:g}" if high else "")
            raise ConfigError(key, f"{value} is out of range; it must be {bound}")
    if (config.training.stop is None) != (config.training.patience is None):
        raise ConfigError("training.patience", "goes with training.stop; give both or neither")
    if config.training.compiled and not config.training.packed:
        raise ConfigError(
            "training.compiled", "what is compiled are the layers of packed batches; leave training.packed"
        )
    _check_probe(config)
    _check_task(config.task)
    _check_sample(config)
    check_trackers(config.runtime.track)


def _check_probe(config: Config) -> None:
    probe, training = config.probe, config.training
    if probe.features is None:
        if probe.layer is not None or probe.removed is not None:
            raise ConfigError("probe.layer", "is of a probe; add training=probe or training=probe_removed")
        if training.stop == "holdout_loss":
            raise ConfigError(
                "training.stop", "holdout_loss is of a probe; fine-tuning stops by dev_score or train_loss"
            )
        return
    if config.task.kind == "span":
        raise ConfigError("training", f"a probe reads one state a text; task={config.task.name} asks for every token's")
    if training.stop not in (None, "holdout_loss"):
        raise ConfigError("training.stop", f"a probe stops by holdout_loss, not by {training.stop}")
    for key, value in (("accumulate", 1), ("report", "last"), ("precision", "fp32")):
        if getattr(training, key) != value:
            raise ConfigError(f"training.{key}", f"a probe is trained with {key}={value}")
    if training.epochs == 0:
        raise ConfigError("training.epochs", "a probe without training says nothing; give 1 or more")


def _check_task(task: Task) -> None:
    known = METRICS[task.kind]
    for metric in task.metrics:
        if metric not in known:
            raise ConfigError("task.metrics", f"{metric!r} is no metric of {task.kind}; choose from {', '.join(known)}")
    if task.headline not in task.metrics:
        raise ConfigError("task.headline", f"{task.headline!r} is not one of task.metrics {list(task.metrics)}")
    columns = (2,) if task.kind == "span" else (1, 2)
    if len(task.text) not in columns:
        wanted = "a question and a passage" if task.kind == "span" else "one or two columns"
        raise ConfigError("task.text", f"is {list(task.text)}; a task of kind {task.kind} has {wanted}")
    if task.kind == "classification":
        if len(set(task.labels)) < max(2, len(task.labels)):
            raise ConfigError("task.labels", f"{list(task.labels)} are not two or more different names of classes")
        if len(task.labels) != 2 and {"f1", "mean_accuracy_f1"} & set(task.metrics):
            raise ConfigError("task.metrics", "f1 is of the second of two classes; with more, macro_f1 is meant")
    elif task.labels:
        raise ConfigError("task.labels", f"a task of kind {task.kind} has no classes")


def _check_sample(config: Config) -> None:
    n, size = config.data.n, config.task.train_size
    if n is not None and config.data.fraction is not None:
        raise ConfigError("data.n", "data.fraction is given too; give one of the two")
    if n is None or n == "all":
        return
    if not isinstance(n, int) or isinstance(n, bool) or n < 1:
        raise ConfigError("data.n", f"{n!r} is not a number of rows; give a whole number from 1, or all")
    if size is not None and n > size:
        raise ConfigError("data.n", f"{n} is more than the {size} training rows of task={config.task.name}")


def check_trackers(names: Sequence[str], key: str = "runtime.track") -> None:
    for name in names:
        if name not in TRACKERS:
            raise ConfigError(key, f"{name!r} is not one of {', '.join(TRACKERS)}")
        if not _installed(name):
            raise ConfigError(key, f"{name} is not installed here; pip install 'bertxfer[{name}]'")


@cache
def _installed(package: str) -> bool:
    return find_spec(package) is not None


def _value(config: Config, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value
