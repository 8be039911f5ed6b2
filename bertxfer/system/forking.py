"""Processes that are forked from this one: they begin with all that it has imported."""

import contextlib
import os
import signal
import sys
from pathlib import Path

_HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2)


class Forked:
    """A child of this process, with what is used of subprocess.Popen."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, or minus the signal that ended it; None while it runs."""
        if self._status is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            self._status = os.waitstatus_to_exitcode(status) if ended else None
        return self._status

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def is_safe() -> bool:
    """Whether this process has one thread alone: a lock that another one holds would stay locked in a fork for ever.

    Threads of libraries count too, as those of a pool that has computed something.
    """
    return sys.platform == "linux" and len(list(Path("/proc/self/task").iterdir())) == 1


def fork(name: str) -> Forked | None:
    """The child, or None in it. It has a session of its own, hears signals as a new process does, and is called by its
    name in `ps -o comm` and `top`, because its command line is that of this process."""
    sys.stdout.flush()
    sys.stderr.flush()
    # A signal that came before they are heard anew would be heard by the handlers of the parent, and lost.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    pid = os.fork()
    if not pid:
        os.setsid()
        with contextlib.suppress(OSError):
            Path("/proc/self/comm").write_text(name)
        for number in _HEARD:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return Forked(pid) if pid else None
