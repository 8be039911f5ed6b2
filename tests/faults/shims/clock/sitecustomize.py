"""A machine whose clock is set: Python imports this first, where its folder is on PYTHONPATH.

The kernel's clock, and so the times of files, stay true: on a cluster they are another machine's.
"""

import os
import time
from collections.abc import Callable

_STEP, _AFTER = float(os.environ["BERTXFER_FAULTS_STEP"]), float(os.environ["BERTXFER_FAULTS_STEP_AFTER"])
_STARTED = time.monotonic()


def _stepped(true: Callable[[], float]) -> Callable[[], float]:
    return lambda: true() + (_STEP if time.monotonic() - _STARTED > _AFTER else 0)


def _stepped_ns(true: Callable[[], int]) -> Callable[[], int]:
    return lambda: true() + (int(_STEP * 1e9) if time.monotonic() - _STARTED > _AFTER else 0)


time.time, time.time_ns = _stepped(time.time), _stepped_ns(time.time_ns)
