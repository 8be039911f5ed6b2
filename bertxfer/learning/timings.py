"""How long each part of a trial took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Timings:
    """Seconds spent under each name, in this attempt."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 3)
