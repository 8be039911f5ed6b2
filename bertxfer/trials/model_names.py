"""What models are called in tables: by their names, which several may share."""

from collections.abc import Iterable

from bertxfer.trials.science import Science

_DIGITS = 8


def labels(sciences: Iterable[Science]) -> dict[str, str]:
    """What each version of a model is called: by its name, and with its first digits where the name has several."""
    names: dict[str, str] = {}  # a version that has two names is called by the first
    for science in sciences:
        names.setdefault(science.model.version, science.model.name)
    called = list(names.values())
    return {
        version: name if called.count(name) == 1 else f"{name}@{version[:_DIGITS]}" for version, name in names.items()
    }
