"""The experiments of a folder of configs, by the names that people type."""

import re
from pathlib import Path

_PARTS = re.compile(r"(\D+)(\d*)")


def names(conf: Path) -> list[str]:
    """Every experiment, papers after the embedded one, fig10 after fig9. What lies under a name that begins with an
    underscore is part of others."""
    folder = conf / "experiment"
    files = (path.relative_to(folder) for path in folder.rglob("*.yaml"))
    files = (path for path in files if not any(part.startswith("_") for part in path.parts))
    return sorted((path.with_suffix("").as_posix() for path in files), key=_rank)


def _rank(name: str) -> tuple[bool, list[tuple[str, int]]]:
    return "/" in name, [(word, int(number or 0)) for word, number in _PARTS.findall(name)]
