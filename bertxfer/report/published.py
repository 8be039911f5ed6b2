"""The papers' own numbers, where they print them: facts in small files, shown beside ours and marked as published."""

from dataclasses import dataclass
from pathlib import Path

import yaml

from bertxfer.errors import ConfigError

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True)
class Published:
    """A table as it is printed, and where."""

    title: str
    where: str
    columns: list[str]
    rows: list[list[str]]
    note: str = ""


def find(experiment: str | None, named: str | None = None) -> Published | None:
    """What was published for an experiment, or under the name that its figure gives; none where nothing was."""
    name = named or experiment
    if name is None:
        return None
    known = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in FOLDER.glob("*/*.yaml")}
    if name not in known:
        if named is not None:
            raise ConfigError("figure.published", f"{named!r} is not one of {', '.join(sorted(known))}")
        return None
    plain = yaml.safe_load(known[name].read_text(encoding="utf-8"))
    rows = [[str(cell) for cell in row] for row in plain["rows"]]
    return Published(plain["title"], plain["where"], plain["columns"], rows, plain.get("note", ""))
