"""Rounds: all trials of one seed. Sweeps run round by round, baselines first, so that what is finished forms pairs
whenever a sweep is interrupted."""

from collections import Counter
from collections.abc import Collection, Iterable

from bertxfer.trials.science import Science
from bertxfer.trials.treatment import Treatment
from bertxfer.trials.trial import Trial

_UNTREATED = Treatment()


def round_of(science: Science) -> int:
    """The seed that says which round a trial belongs to: the order of batches, which every trial draws."""
    return science.seeds["order"]


def in_rounds(trials: Iterable[Trial]) -> list[Trial]:
    """The trials seed by seed, and within a round first those that the others are compared with.

    A trial that differs from another one in the order of batches alone is run beside it, though its round is another:
    the seed that most of its streams have says where.
    """
    return sorted(trials, key=lambda trial: (_beside(trial.science), *_place(trial.science)))


def whole(trials: Iterable[Trial], done: Collection[str]) -> tuple[int, int]:
    """How many rounds have all their trials done, by their ids, and how many there are."""
    rounds: dict[int, bool] = {}
    for trial in trials:
        number = round_of(trial.science)
        rounds[number] = rounds.get(number, True) and trial.id in done
    return sum(rounds.values()), len(rounds)


def _beside(science: Science) -> int:
    """The seed that most streams have; where that is undecided, the round's."""
    counts = Counter(science.seeds.values())
    number, most = counts.most_common(1)[0]
    return number if 2 * most > len(science.seeds) else round_of(science)


def _place(science: Science) -> tuple[int, bool]:
    return round_of(science), not _is_baseline(science)


def _is_baseline(science: Science) -> bool:
    return science.chain is None and science.treatment == _UNTREATED
