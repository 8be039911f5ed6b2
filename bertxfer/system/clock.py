"""The clock of the file system that a folder lies on, which may be another machine's."""

import contextlib
import math
import os
import tempfile
import time
from pathlib import Path

_AGE = 60.0  # seconds after which a measurement is made anew: clocks drift, and are set
_STEP = 2.5  # seconds by which two measurements may differ: some file systems count in twos


class FileClock:
    """Carried on by this machine's steady clock in between, so that setting the time here changes nothing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.stepped_at = -math.inf  # by the steady clock: when the file system's was last seen to have been set
        self._ahead: float | None = None  # of the steady clock
        self._measured_at = -math.inf

    def now(self) -> float:
        steady = time.monotonic()
        if self._ahead is None or steady - self._measured_at > _AGE:
            return self.measure()
        return steady + self._ahead

    def measure(self) -> float:
        """Asks the file system what time it is."""
        ahead = time.time() - time.monotonic()
        with contextlib.suppress(OSError):  # a folder that may only be read
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder) as probe:
                ahead = os.fstat(probe.fileno()).st_mtime - time.monotonic()
        self._measured_at = time.monotonic()
        if self._ahead is not None and abs(ahead - self._ahead) > _STEP:
            self.stepped_at = self._measured_at
        self._ahead = ahead
        return self._measured_at + ahead
