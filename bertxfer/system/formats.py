"""Files that versions of this program leave for each other carry the number of their format."""

from pathlib import Path
from typing import Any

from bertxfer.errors import BertxferError

FORMAT = 2  # of manifests, launches, workers' cards and attempts; 1 is what carries no number


def refuse_newer(path: Path, content: Any) -> None:
    """Raises if a newer version has written it: what it means here is not known."""
    if is_newer(content):
        raise BertxferError(
            f"{path} is of a newer version (format {content['format']}, this one knows {FORMAT}): update this checkout"
        )


def is_newer(content: Any) -> bool:
    """Whether what was read of such a file, be it damaged, carries a number that is not known here."""
    written = content.get("format", 1) if isinstance(content, dict) else 1
    return isinstance(written, int) and written > FORMAT
