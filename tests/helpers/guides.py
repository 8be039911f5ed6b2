"""The guides of docs/architecture.md, as far as tests use them."""

import re

from bertxfer.system.package import PACKAGE

GUIDE = PACKAGE.parent / "docs" / "architecture.md"


def guided_files() -> dict[str, str]:
    """The files that the guides show, by their paths."""
    shown = re.findall(r"^`([\w/.]+)`:\n\n```\w+\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.M | re.S)
    return dict(shown)
