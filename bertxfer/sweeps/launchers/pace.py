"""How fast a launch is, in one line that stays up to date."""

import sys
import time
from collections import Counter

from rich.console import Console
from rich.live import Live


class Pace:
    """Trials an hour since the launch, and the time left at that pace."""

    def __init__(self) -> None:
        self.since: tuple[float, int] | None = None

    def words(self, counts: Counter[str]) -> str:
        if self.since is None:
            self.since = (time.monotonic(), counts["done"])
        seconds, done = time.monotonic() - self.since[0], counts["done"] - self.since[1]
        if done == 0:
            return ""
        left = (counts["waiting"] + counts["running"]) * seconds / done
        return f"; {3600 * done / seconds:.0f} an hour, {left / 60:.0f} min left"


class Line:
    """One line that is kept up to date on a terminal, and printed now and then into a log."""

    def __init__(self) -> None:
        self.live = Live(console=Console(stderr=True, markup=False), transient=True) if sys.stderr.isatty() else None
        self.shown, self.shown_at = "", -1e9

    def __enter__(self) -> "Line":
        if self.live:
            self.live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.live:
            self.live.stop()

    def show(self, line: str, at_once: bool = False) -> None:
        if self.live:
            self.live.update(line)
        elif line != self.shown and (at_once or time.monotonic() - self.shown_at > 15):
            print(line, flush=True)
            self.shown, self.shown_at = line, time.monotonic()
