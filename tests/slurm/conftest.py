"""One real SLURM for all tests in this folder: they fail if it cannot be had, and it is gone when they end."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.cluster import Cluster
from tests.helpers.on_slurm import queued
from tests.helpers.sweeping import wait_until


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    # SIGTERM, which a CI sends, would end Python without taking the daemons along.
    before = signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated"))
    try:
        # Not pytest's tmp_path: the path of a socket has a limit of about 100 characters.
        with Cluster(Path(tempfile.mkdtemp(prefix="bxs", dir="/tmp"))) as cluster:
            yield cluster
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture
def quiet(cluster: Cluster) -> None:
    """Nothing of an earlier test is left in the queue."""
    cluster.run("scancel", "-u", str(os.getuid()))
    wait_until(lambda: not queued(cluster), 60)
