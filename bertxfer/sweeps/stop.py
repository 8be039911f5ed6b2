"""The wish to stop: a signal, or a time limit that is near."""

import contextlib
import signal
import time
from collections.abc import Iterator
from types import FrameType

from bertxfer.system import slurm_job
from bertxfer.system.processes import say_at_once


class Stop:
    """Asked for by SIGTERM (preemption, cancelling) or Ctrl-C, or due because SLURM's time limit is near."""

    def __init__(self) -> None:
        self.asked = False
        self.warned = False
        self.deadline = slurm_job.deadline()

    def __call__(self) -> bool:
        return self.asked or self.time_is_up()

    def time_is_up(self) -> bool:
        # SLURM may send its warning up to a minute early, so where the end is known, that decides.
        return self.warned if self.deadline is None else time.time() > self.deadline

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        numbers = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)
        before = {number: signal.signal(number, self._receive) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGUSR2:
            self.warned = True
        elif not self.asked:
            self.asked = True
            signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C does not wait for a checkpoint
            # It may come in the middle of another print, or with the log on a full disk: the trial must not fail of it.
            with contextlib.suppress(OSError, RuntimeError):
                say_at_once(f"told to stop by {signal.Signals(number).name}")
