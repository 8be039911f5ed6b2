"""What squeue prints of the time that is left."""

import pytest

from bertxfer.system.slurm_job import seconds_left


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0:45", 45),
        ("59:59", 3599),
        ("1:00:00", 3600),
        ("1-02:03:04", 93784),
        ("UNLIMITED", None),
        ("INVALID", None),
        ("NOT_SET", None),
        ("", None),
    ],
)
def test_seconds_left(text: str, seconds: float | None) -> None:
    assert seconds_left(text) == seconds
