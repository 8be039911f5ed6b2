"""Refusals: a config that cannot be run is refused by key, before anything heavy is imported.

What a key allows by itself is declared with it (config/schema.py); this module checks what keys must agree on.
"""

from bertxfer.config import keys
from bertxfer.config.schema import UNCORRECTED_FROM, Config
from bertxfer.errors import ConfigError


def check(config: Config) -> None:
    """Raises ConfigError for the first value that cannot be run."""
    keys.check(config)
    if config.reading not in ("text", *config.readings):
        raise ConfigError(
            "reading",
            f"{config.reading!r} is for experiments whose paper has a text and a code that differ; here there is one",
        )
    if (config.training.stop is None) != (config.training.patience is None):
        raise ConfigError("training.patience", "goes with training.stop; give both or neither")
    if config.training.compiled and not config.training.packed:
        raise ConfigError(
            "training.compiled", "only the layers of packed batches are compiled; it needs training.packed"
        )
    _check_optimizer(config)
    _check_probe(config)
    _check_sample(config)


def _check_optimizer(config: Config) -> None:
    optimizer = config.optimizer
    for key in ("beta1", "beta2"):
        if not optimizer.bias_correction and 1 - getattr(optimizer, key) ** UNCORRECTED_FROM != 1:
            raise ConfigError(f"optimizer.{key}", "is too near 1 to do without bias correction; give 0.99999 or less")


def _check_probe(config: Config) -> None:
    probe, training = config.probe, config.training
    if probe.features is None:
        if probe.layer is not None or probe.removed is not None:
            raise ConfigError("probe.layer", "belongs to a probe; add training=probe or training=probe_removed")
        if training.stop == "holdout_loss":
            raise ConfigError(
                "training.stop", "holdout_loss belongs to a probe; fine-tuning stops by dev_score or train_loss"
            )
        return
    if training.stop not in (None, "holdout_loss"):
        raise ConfigError("training.stop", f"a probe stops by holdout_loss, not by {training.stop}")
    for key, value in (("accumulate", 1), ("report", "last"), ("evaluate", "last"), ("precision", "fp32")):
        if getattr(training, key) != value:
            raise ConfigError(f"training.{key}", f"a probe is trained with {key}={value}")
    if config.optimizer.layer_decay != 1 or not config.optimizer.bias_correction:
        raise ConfigError("optimizer", "layer_decay and bias_correction=false go with fine-tuning, not with a probe")
    if training.epochs == 0:
        raise ConfigError("training.epochs", "a probe without training says nothing; give 1 or more")


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
