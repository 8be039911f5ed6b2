"""One stream of randomness per purpose, each derived from a seed and the purpose's name."""

import hashlib

STREAMS = ("subsample", "redraw", "head", "order", "dropout", "permutation")


def derive(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream called `names`; unrelated names give unrelated streams."""
    words = "/".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:8], "big") >> 1


def permutation(size: int, seed: int, *names: str | int) -> list[int]:
    """0..size-1 in the random order of the stream called `names`.

    RandomState and not default_rng: numpy promises its stream never to change, so that a trial
    of today draws the same subsample under a numpy of next year.
    """
    import numpy as np

    key = derive(seed, *names)
    order: list[int] = np.random.RandomState([key & 0xFFFFFFFF, key >> 32]).permutation(size).tolist()
    return order
