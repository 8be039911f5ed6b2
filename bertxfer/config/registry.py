"""Things that are known by name: whatever declares one registers it, and an unknown name is refused with the list."""

from collections.abc import Iterator, Mapping
from typing import TypeVar

from bertxfer.errors import ConfigError

T = TypeVar("T")


class Registry(Mapping[str, T]):
    """Schemes, families, kinds of tasks, metrics, launchers, trackers. `key` is the config key that names one."""

    def __init__(self, key: str) -> None:
        self.key = key
        self._things: dict[str, T] = {}

    def add(self, name: str, thing: T) -> T:
        if name in self._things:
            raise ValueError(f"{self.key}: there are two things called {name}")
        self._things[name] = thing
        return thing

    def __getitem__(self, name: str) -> T:
        """The thing of that name; KeyError where there is none, as in any mapping."""
        return self._things[name]

    def named(self, name: object) -> T:
        """The thing that a config names."""
        if not isinstance(name, str) or name not in self._things:
            raise ConfigError(self.key, f"{name!r} is not one of {', '.join(self._things)}")
        return self._things[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._things)

    def __len__(self) -> int:
        return len(self._things)
