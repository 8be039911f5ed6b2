"""Regions: parts of a model as people name them, `embeddings + layers 7-12 except layernorms`, and the tensors that
they mean.

A region means atoms: what no region divides further, a weight, a bias or a LayerNorm of one sub-module. One head is
rows of query, key and value and columns of the attention's output, so it is named as a head within those atoms.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from bertxfer.errors import ConfigError
from bertxfer.trials.families import FAMILIES, HEAD_ATOMS, LAYER_ATOMS, POOLER_ATOMS, Atom

WHOLE = 0  # in place of the number of a head: the whole tensor
PARTS = ("attention", "feedforward")


class Target(NamedTuple):
    """An atom, or the part of it that belongs to one head."""

    atom: Atom
    head: int = WHOLE


@dataclass(frozen=True)
class Anatomy:
    """What regions need to know of a model."""

    family: str
    layers: int
    heads: int

    @property
    def every_layer(self) -> range:
        return range(1, self.layers + 1)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """All of them, from the embeddings upwards."""
        return _atoms(self.family, self.layers)


@lru_cache(maxsize=64)
def _atoms(family: str, layers: int) -> tuple[Atom, ...]:
    in_layers = (Atom(f"layer {n}", *inside) for n in range(1, layers + 1) for inside in LAYER_ATOMS)
    return (*FAMILIES[family].embedding_atoms, *in_layers, *POOLER_ATOMS)


def targets(expressions: Any, anatomy: Anatomy, key: str) -> frozenset[Target]:
    """What a region, or a list of them, means on a model; ConfigError where it means nothing."""
    found: set[Target] = set()
    several = expressions if isinstance(expressions, (list, tuple)) else [expressions]
    for expression in several or [""]:
        if not isinstance(expression, str) or not expression.strip():
            raise ConfigError(key, f"{expression!r} is not a region; give words such as `layers 7-12 attention`")
        for one in re.split(r"\s+\+\s+", expression.strip()):
            meant, *holes = (_Term(words, anatomy, key).targets() for words in re.split(r"\s+except\s+", one))
            left = frozenset(_without(meant, frozenset().union(*holes), anatomy.heads))
            if not left:
                raise ConfigError(key, f"`{one}` has nothing in it on this model")
            found |= left
    return frozenset(found)


def _without(meant: frozenset[Target], holes: frozenset[Target], heads: int) -> Iterator[Target]:
    """What is left; of a whole tensor that a head is taken out of, the other heads."""
    for target in meant:
        if target in holes or Target(target.atom) in holes:
            continue
        each = [Target(target.atom, head) for head in range(1, heads + 1)]
        if target.head == WHOLE and any(one in holes for one in each):
            yield from (one for one in each if one not in holes)
        else:
            yield target


class _Term:
    """`layers 7-12 attention weights`: an area, numbers, and words that must all be true of an atom."""

    def __init__(self, text: str, anatomy: Anatomy, key: str) -> None:
        self.text, self.anatomy, self.key = text, anatomy, key
        self.words = re.sub(r"\s*,\s*", ",", text).split()

    def targets(self) -> frozenset[Target]:
        area = self._area()
        tests: list[Callable[[Atom], bool]] = []
        heads: set[int] | None = None
        while self.words:
            word = self.words.pop(0)
            if word in ("head", "heads"):
                named = set(self._numbers("head", self.anatomy.heads, "H"))
                heads = named if heads is None else heads & named
                tests.append(lambda atom: atom.inside in HEAD_ATOMS)
            elif word in _WORDS:
                tests.append(_WORDS[word])
            else:
                known = ", ".join(word for word in _WORDS if "." not in word)
                raise self._error(f"{word!r} is not a part of a model; parts are head, {known}")
        atoms = [atom for atom in self.anatomy.atoms if area(atom) and all(test(atom) for test in tests)]
        return frozenset(Target(atom, head) for atom in atoms for head in ([WHOLE] if heads is None else heads))

    def _area(self) -> Callable[[Atom], bool]:
        first = self.words[0] if self.words else ""
        if first in ("everything", "embeddings", "pooler", "layer", "layers"):
            self.words.pop(0)
        if first in ("embeddings", "pooler"):
            return lambda atom: atom.area == first
        if first not in ("layer", "layers"):
            return lambda atom: True
        if not self.words or not re.match(r"\d|L", self.words[0]):
            return lambda atom: atom.layer is not None
        numbers = set(self._numbers("layer", self.anatomy.layers, "L"))
        return lambda atom: atom.layer in numbers

    def _numbers(self, noun: str, most: int, end: str) -> list[int]:
        """`3`, `7-12`, `1,3,5-7`, `L-1..L`, `1..3L/4`; a fraction is rounded down."""
        numbers: list[int] = []
        for item in (self.words.pop(0) if self.words else "").split(","):
            one = rf"(\d+|\d*{end}(?:/[1-9]\d*)?(?:[+-]\d+)?)"
            match = re.fullmatch(rf"{one}(?:\.\.{one})?", item) or re.fullmatch(rf"(\d+)-(\d+|{end})", item)
            if match is None:
                raise self._error(f"{item!r} is not a number of a {noun}, nor several such as 1,3 or 7-{end}")
            first, last = (_number(bound, end, most) for bound in (match[1], match[2] or match[1]))
            if not 1 <= first <= last <= most:
                raise self._error(f"{item} is out of range; on this model {noun}s are 1..{most}")
            numbers.extend(range(first, last + 1))
        return numbers

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(self.key, f"`{self.text}`: {problem}")


def _number(bound: str, end: str, most: int) -> int:
    """`7`, `L`, `L-1`, `L/2+1`, `3L/4`."""
    if bound.isdigit():
        return int(bound)
    match = re.fullmatch(rf"(\d*){end}(?:/(\d+))?([+-]\d+)?", bound)
    assert match is not None
    return int(match[1] or 1) * most // int(match[2] or 1) + int(match[3] or 0)


def _module(name: str) -> Callable[[Atom], bool]:
    return lambda atom: atom.module == name


def _inside(module: str, role: str) -> Callable[[Atom], bool]:
    return lambda atom: atom.inside == (module, role)


def _role(name: str) -> Callable[[Atom], bool]:
    return lambda atom: atom.role == name


_SINGULAR: dict[str, Callable[[Atom], bool]] = {
    "attention": lambda atom: atom.part == "attention",
    "feedforward": lambda atom: atom.part == "feedforward",
    "query": _module("attention.query"),
    "key": _module("attention.key"),
    "value": _module("attention.value"),
    "output": _module("attention.output"),
    "word": _module("word"),
    "position": _module("position"),
    "type": _module("type"),
    "weight": _role("weight"),
    "bias": _role("bias"),
    "layernorm": _role("layernorm"),
}
_MODULES = dict.fromkeys([*(inside.module for inside in LAYER_ATOMS if inside.role != "layernorm"), "projection"])
_WORDS = {
    **_SINGULAR,
    **{f"{word}s": _SINGULAR[word] for word in ("word", "position", "type", "weight", "layernorm")},
    "biases": _SINGULAR["bias"],
    **{module: _module(module) for module in _MODULES},
    **{f"{module}.{role}": _inside(module, role) for module in _MODULES for role in ("weight", "bias")},
    **{part + ".layernorm": _module(f"{part}.layernorm") for part in PARTS},
}


def names(meant: Iterable[Target], anatomy: Anatomy) -> tuple[str, ...]:
    """The same atoms by as few names as may be, always the same ones: `layer 3 attention`, `layer 3 head 5`."""
    chosen = set(meant)
    found: list[str] = []
    for area, inside in groupby(anatomy.atoms, key=lambda atom: atom.area):
        atoms = list(inside)
        heads = sorted({head for atom, head in chosen if atom.area == area and head != WHOLE})
        found.extend(_names_of(area, atoms, {atom for atom in atoms if Target(atom) in chosen}))
        for head in heads:
            some = [atom for atom in atoms if Target(atom, head) in chosen]
            if len(some) == len(HEAD_ATOMS):
                found.append(f"{area} head {head}")
            else:
                found.extend(f"{area} head {head} {atom.called}" for atom in some)
    return tuple(found)


def _names_of(area: str, atoms: Sequence[Atom], chosen: set[Atom]) -> Iterator[str]:
    if not area.startswith("layer "):
        if chosen == set(atoms):
            yield area
        else:
            yield from (f"{area} {atom.called}" for atom in atoms if atom in chosen)
        return
    for part, of_part in groupby(atoms, key=lambda atom: atom.part):
        inside = list(of_part)
        if chosen >= set(inside):
            yield f"{area} {part}"
            continue
        for module, of_module in groupby(inside, key=lambda atom: atom.module):
            both = list(of_module)
            if chosen >= set(both):
                yield f"{area} {module}"
            else:
                yield from (f"{area} {atom.called}" for atom in both if atom in chosen)


def in_words(regions: Sequence[str]) -> str:
    """Regions, by the names that `names` gave them, in a table's few words: "layers 7-12", "layer 11 heads 1-3"."""
    around = [region for region in regions if not region.startswith("layer ")]
    parts: dict[int, list[str]] = {}
    for region in regions:
        if region.startswith("layer "):
            _, number, part = region.split(" ", 2)
            parts.setdefault(int(number), []).append(part)
    layers: dict[str, list[int]] = {}
    for layer, of_layer in parts.items():
        layers.setdefault(_part_words(of_layer), []).append(layer)
    within = [f"{spans('layer', numbers)} {words}".strip() for words, numbers in layers.items()]
    return " and ".join([*_before(around), *within, *(region for region in around if region.startswith("pooler"))])


def _before(around: Sequence[str]) -> list[str]:
    inside = [region.removeprefix("embeddings ") for region in around if region.startswith("embeddings")]
    if inside == ["embeddings"]:
        return inside
    return [f"{' and '.join(inside)} embeddings"] if inside else []


def _part_words(parts: list[str]) -> str:
    """What these parts of a layer are called together; nothing where they are all of it."""
    heads = [int(part.removeprefix("head ")) for part in parts if re.fullmatch(r"head \d+", part)]
    if len(heads) == len(parts):
        return spans("head", heads)
    return _TOGETHER.get(frozenset(parts)) or (" and ".join(parts) if tuple(parts) != PARTS else "")


def _together() -> Iterator[tuple[frozenset[str], str]]:
    """Sets of parts that have a word of their own."""
    layer = [Atom("layer 1", *inside) for inside in LAYER_ATOMS]
    for area, whole in (("", layer), *((part, [a for a in layer if a.part == part]) for part in PARTS)):
        for word, kept in (
            ("weights", [atom for atom in whole if atom.role == "weight"]),
            ("biases", [atom for atom in whole if atom.role == "bias"]),
            ("LayerNorm", [atom for atom in whole if atom.role == "layernorm"]),
            ("except LayerNorm", [atom for atom in whole if atom.role != "layernorm"]),
            ("except biases", [atom for atom in whole if atom.role != "bias"]),
        ):
            called = _names_of("layer 1", layer, set(kept))
            yield frozenset(name.removeprefix("layer 1 ") for name in called), f"{area} {word}".strip()


_TOGETHER = dict(reversed(list(_together())))  # of two words for one set the first counts


def spans(noun: str, numbers: Sequence[int]) -> str:
    """ "layer 3", "layers 3-5,9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    said = ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{noun}{'s' if len(numbers) > 1 else ''} {said}"
