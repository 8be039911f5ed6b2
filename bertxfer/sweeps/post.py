"""A worker's post: what it is told when it is started."""

from dataclasses import dataclass
from typing import Any

from bertxfer.sweeps.attempt import Rules


@dataclass(frozen=True)
class Post:
    """What a worker is told when it is started."""

    sweep: str  # the sweep's folder
    launch: str
    rules: Rules
    threads: int | None = None
    gpu: str | None = None  # CUDA_VISIBLE_DEVICES; null: as it is
    limit: int | None = None  # how many trials it takes at most


def post_of(plain: dict[str, Any]) -> Post:
    """A post from its plain form."""
    return Post(**{**plain, "rules": Rules(**plain["rules"])})
