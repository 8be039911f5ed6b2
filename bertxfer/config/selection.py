"""What typed words mean for the grids of an experiment: they select points that the grids have, and only then replace.

`experiment=tamkin2020/fig2 task=cola data.n=500` is the part of fig2 with this task and size, and with what its grid
says of them: five epochs and fifty seeds. A value that no grid has takes the place of what the grids say.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from bertxfer.config.axes import AXES
from bertxfer.config.grids import Axes, tiny
from bertxfer.config.overrides import parsed


@dataclass(frozen=True)
class Selection:
    grids: list[Axes]
    replaced: dict[str, list[str]]  # by key, the typed words that no grid has
    typed: frozenset[str] = frozenset()  # keys

    def scaled(self, scale: str | None) -> list[Axes]:
        """The grids at a scale. What was typed stays as it was typed."""
        if scale is None:
            return self.grids
        kept = [{key: words for key, words in grid.items() if key in self.typed} for grid in self.grids]
        return [{**small, **typed} for small, typed in zip(tiny(self.grids), kept, strict=True)]

    def note(self) -> str | None:
        """What a user should know: which typed values are not among those of the experiment."""
        words = [word for words in self.replaced.values() for word in words]
        if not words:
            return None
        shown = ", ".join(words[:4]) + (f" and {len(words) - 4} more" if len(words) > 4 else "")
        return f"{shown}: not in the grids of the experiment, so used instead of the values that they have"


def select(typed: Axes, grids: Sequence[Axes]) -> Selection:
    """The grids with what was typed. Keys that no grid fixes are added to all of them."""
    fixed = {key: words for key, words in typed.items() if any(key in grid for grid in grids)}
    added = {key: words for key, words in typed.items() if key not in fixed}
    replaced: dict[str, list[str]] = {}
    selected: list[Axes] = []
    for combination in product(*fixed.values()):
        chosen, new = _select_one(dict(zip(fixed, combination, strict=True)), grids)
        selected += chosen
        for key, word in new.items():
            replaced.setdefault(key, [])
            replaced[key] += [word] if word not in replaced[key] else []
    return Selection([{**grid, **added} for grid in _joined(selected, list(fixed))], replaced, frozenset(typed))


def _select_one(words: Mapping[str, str], grids: Sequence[Axes]) -> tuple[list[Axes], dict[str, str]]:
    """The grids for one value of each typed key, and the words among them that no grid has.

    Keys are looked at in the order in which they were typed: each keeps the grids that have its value or, where none of
    those that are left has it, takes the place of what they say.
    """
    left: list[Axes] = [dict(grid) for grid in grids]
    new: dict[str, str] = {}
    for key, word in words.items():
        having = [grid for grid in left if _has(grid, key, word)]
        if having:
            left = [{**grid, key: [word]} for grid in having]
        else:
            new[key] = word
            # An axis belongs to a scheme: grids of other schemes have no use for it and stay as they are.
            left = [{**grid, key: [word]} if key in grid or key not in AXES else grid for grid in left]
    return left, new


def _has(grid: Axes, key: str, word: str) -> bool:
    """By value: `data.n=500` and `data.n=+500` are one, `k=0` and `k=0.0` are not what people type."""
    return key in grid and parsed(word).value() in [parsed(known).value() for known in grid[key]]


def _joined(grids: Sequence[Axes], keys: Sequence[str]) -> list[Axes]:
    """Grids that differ in one typed key only, joined again, so that a typed range stays one grid; each once."""
    for key in keys:
        by_rest: dict[str, Axes] = {}
        for grid in grids:
            rest = repr(sorted((name, words) for name, words in grid.items() if name != key)) + str(key in grid)
            known = by_rest.setdefault(rest, grid)
            if known is not grid and key in grid:
                by_rest[rest] = {**known, key: list(dict.fromkeys([*known[key], *grid[key]]))}
        grids = list(by_rest.values())
    return list(grids)
