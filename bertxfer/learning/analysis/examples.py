"""The dev examples that an analysis looks at where it need not see all: the same ones for every analysis."""

from collections.abc import Callable, Iterator

from bertxfer.system import seeds

EXAMPLES = 1000  # at most; sampled with the trial's own seed


def sample(size: int, seed: int) -> list[int]:
    return sorted(seeds.permutation(size, seed, "attention")[:EXAMPLES])


def by_length(chosen: list[int], lengths: list[int], at_once: Callable[[int], int]) -> Iterator[list[int]]:
    """Examples of one length share a batch: then there is no padding to leave out. `at_once` says of a length how many
    examples fit into a batch."""
    of_length: dict[int, list[int]] = {}
    for example in chosen:
        of_length.setdefault(lengths[example], []).append(example)
    for length, examples in of_length.items():
        size = max(1, at_once(length))
        yield from (examples[i : i + size] for i in range(0, len(examples), size))
