"""Where the code of this package lies, and the files that travel with it."""

from pathlib import Path

PACKAGE = Path(__file__).parent.parent
