"""What a result says against its own files: metrics that its predictions do not have, settings that its config has not.

Both are seen without running the trial again. That somebody has altered all of it alike is not.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from bertxfer.store.results import UNKNOWN, Result
from bertxfer.tasks.metrics import METRICS
from bertxfer.trials.science import SEMANTICS


def contradiction(result: Result, config: Mapping[str, Any], predictions: Any) -> str | None:
    """The first one; None where there is none. `predictions` is None where they are lost."""
    found = [_of_config(result, config), _of_score(result, config)]
    if predictions is not None:
        found += [_of_predictions(result, config, predictions), _of_logits(predictions)]
    try:
        return next((words for several in found for words in several), None)
    except (LookupError, TypeError, ValueError, AttributeError) as error:  # columns of other types, as of another kind
        return f"cannot be compared with its config and its predictions ({' '.join(str(error).split())})"


def _of_config(result: Result, config: Mapping[str, Any]) -> Iterator[str]:
    """The science that a config states is what its id hashes, so that it is the result which is wrong."""
    inputs = result.get("inputs")
    inputs = inputs if isinstance(inputs, dict) else {}
    told = {
        **{name: (result.get(name), config[name]["name"]) for name in ("task", "model")},
        "seed": (result.get("seed"), config["seeds"].get("order")),
        "n_train": (result.get("n_train"), config["data"]["n"]),
        "inputs.model_version": (inputs.get("model_version"), config["model"]["version"]),
        "inputs.data_version": (inputs.get("data_version"), config["task"].get("version")),
    }
    for key, (said, stated) in told.items():
        if None not in (said, stated) and said not in (stated, UNKNOWN.get(key)):
            yield f"has {key} = {said!r}, but its config has {stated!r}"
    for key, most in (("n_dev", config["data"].get("dev_n")), ("epochs", config["training"].get("epochs"))):
        said = result.get(key)
        if isinstance(said, int) and isinstance(most, int) and said > most:
            yield f"has {key} = {said!r}, but its config has {most!r}"
    if result["treatment"] not in (config["treatment"], UNKNOWN["treatment"]):
        yield "has another treatment than its config"


def _of_score(result: Result, config: Mapping[str, Any]) -> Iterator[str]:
    headline = result.get("headline") or config["task"].get("headline")
    if headline in result["metrics"] and not _close(result["score"], result["metrics"][headline]):
        yield f"has the score {result['score']!r}, but {headline} = {result['metrics'][headline]!r}"


def _of_predictions(result: Result, config: Mapping[str, Any], predictions: Any) -> Iterator[str]:
    known = METRICS.get(config["task"]["kind"], {})
    if "label" not in predictions.column_names:
        return
    labels, predicted = (_values(predictions[name]) for name in ("label", "prediction"))
    for name, said in result["metrics"].items():
        if name not in known:
            continue
        counted = known[name].score(labels, predicted)
        # Earlier versions gave some scores a number that are not defined.
        if math.isnan(counted) and config.get("semantics") != SEMANTICS:
            continue
        if not _close(said, None if math.isnan(counted) else counted):
            now = "not defined" if math.isnan(counted) else f"{counted:.6g}"
            yield f"has {name} = {said!r}, but by its predictions it is {now}"


def _of_logits(predictions: Any) -> Iterator[str]:
    """A class is predicted for its logit, the largest."""
    import numpy as np

    names = [name for name in predictions.column_names if name.startswith("logit_")]
    if not names:
        return
    logits, chosen = np.stack([_values(predictions[name]) for name in names]), _values(predictions["prediction"])
    if not np.array_equal(logits[chosen, np.arange(len(chosen))], logits.max(axis=0)):
        yield "stands beside predictions that are not the classes of their largest logits"


def _values(column: Any) -> Any:
    """Numbers as an array, which is read ten times as fast as a list; texts as they are."""
    from pyarrow import types

    of_numbers = types.is_integer(column.type) or types.is_floating(column.type)
    return column.to_numpy() if of_numbers and not column.null_count else column.to_pylist()


def _close(one: float | None, other: float | None) -> bool:
    """Up to what another version of a library makes of the last bits."""
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)
