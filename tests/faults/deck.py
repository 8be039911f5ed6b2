"""Which kind of fault comes next."""

import random
from collections.abc import Collection


class Deck:
    """All kinds in a random order, again and again and over all rounds: none is left out for long."""

    def __init__(self, draws: random.Random) -> None:
        self.draws = draws
        self._hand: list[str] = []

    def take(self, possible: Collection[str]) -> str:
        """The next one of those that are possible here; others wait until they are."""
        if not any(kind in possible for kind in self._hand):
            self._hand += self.draws.sample(list(possible), len(possible))
        kind = next(kind for kind in self._hand if kind in possible)
        self._hand.remove(kind)
        return kind

    def put_back(self, kind: str) -> None:
        """There was nothing to harm: another time."""
        self._hand.append(kind)
