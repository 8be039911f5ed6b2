"""Modules that Python imports before all others, to make a process see the world otherwise than it is."""

import os
from pathlib import Path


def shimmed(name: str, **variables: str) -> dict[str, str]:
    """The environment in which it does."""
    return {**first_on_path(Path(__file__).parent / name), **variables}


def first_on_path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
