"""Ctrl-C: ends a command at once while there is nothing to save, and is an exception where there is."""

import contextlib
import os
import signal
from collections.abc import Iterator
from types import FrameType

INTERRUPTED = 130  # the exit status that shells give to Ctrl-C


def end_at_once() -> None:
    """From now on Ctrl-C ends this process with one word, wherever it is: half-imported libraries cannot do better."""
    signal.signal(signal.SIGINT, _end)


def _end(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, b"\nbertxfer: stopped\n")
    os._exit(INTERRUPTED)


@contextlib.contextmanager
def raised() -> Iterator[None]:
    """Within it Ctrl-C is a KeyboardInterrupt."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
