"""The normal form of a list of operations: equal effects are equal treatments, and order matters only where it matters.

Layers are moved first. What is done to each atom is followed through the list on its own; what an operation overwrites
is dropped with it. What is left is told again in as few operations as the atoms allow, always in the same order.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

from bertxfer.trials import regions
from bertxfer.trials.families import HEAD_ATOMS, Atom
from bertxfer.trials.initializer import Initializer
from bertxfer.trials.regions import WHOLE, Anatomy, Target
from bertxfer.trials.treatment import AVERAGE, CORRUPT, FRESH, REINITIALIZE, TRANSPLANT, Operation, Treatment


@dataclass(frozen=True)
class Arrangement:
    """Layers moved or deleted: at position i stands the layer that stood at `order[i]` before."""

    order: tuple[int, ...]


Step = Arrangement | Operation
_KEEP = ("keep",)
_REINITIALIZED = Operation(REINITIALIZE, ())  # how, a rule says, atom by atom


class _Entry(NamedTuple):
    """What is done to one atom, or to one head of it."""

    head: int
    rule: tuple[Any, ...]  # for a reinitialization: (draw, distribution, sd, cut), (shuffle,), (constant,)
    operation: Operation

    def meets(self, other: "_Entry") -> bool:
        return WHOLE in (self.head, other.head) or self.head == other.head

    def covers(self, other: "_Entry") -> bool:
        return self.head in (WHOLE, other.head)

    @property
    def overwrites(self) -> bool:
        """Whether nothing of the values before it matters."""
        return self.operation.kind == TRANSPLANT or self.rule[:1] in (("draw",), ("constant",))


@lru_cache(maxsize=1024)  # the trials of a sweep share their treatments
def normal_form(steps: tuple[Step, ...], anatomy: Anatomy, version: str, lr_factor: float = 1.0) -> Treatment:
    """The treatment that a list of operations is, on the model of this version. Regions are meant as layers stand when
    their turn has come. Reinitialized tensors learn `lr_factor` times as fast."""
    order = list(anatomy.every_layer)
    done: dict[Atom, list[_Entry]] = defaultdict(list)  # under the layers' pretrained places
    for step in steps:
        if isinstance(step, Arrangement):
            order = [order[place - 1] for place in step.order]
            continue
        for target in regions.targets(step.regions, replace(anatomy, layers=len(order)), "treatments"):
            if (entry := _entry(step, target)) is not None:
                _add(done[_at(target.atom, order)], entry, _is_own(target.atom, entry, order, version))
    places = {layer: place for place, layer in enumerate(order, start=1)}
    left = {_moved(atom, places): entries for atom, entries in done.items() if atom.layer is None or atom.layer in places}
    operations = tuple(_told(left, replace(anatomy, layers=len(order))))
    moved = () if order == list(anatomy.every_layer) else tuple(order)
    factor = float(lr_factor) if any(operation.kind in FRESH for operation in operations) else 1.0
    if len(operations) == 1 and operations[0].kind == REINITIALIZE:
        return Treatment(moved, operations[0].regions, operations[0].initializer, factor)
    return Treatment(moved, lr_factor=factor, operations=operations)


def _at(atom: Atom, order: Sequence[int]) -> Atom:
    return atom if atom.layer is None else atom._replace(area=f"layer {order[atom.layer - 1]}")


def _moved(atom: Atom, places: dict[int, int]) -> Atom:
    return atom if atom.layer is None else atom._replace(area=f"layer {places[atom.layer]}")


def _entry(operation: Operation, target: Target) -> "_Entry | None":
    """What an operation does to one of its targets; None where it leaves that as it is."""
    if operation.kind in (CORRUPT, AVERAGE) and operation.amount == 0:
        return None
    plain = replace(operation, regions=())
    if operation.kind == AVERAGE and operation.amount == 1:
        plain = replace(plain, kind=TRANSPLANT, amount=None)
    if operation.donor is not None:  # from where the layer stands now
        plain = replace(plain, donor_layer=target.atom.layer)
    rule: tuple[Any, ...] = ()
    if operation.kind == REINITIALIZE:
        assert operation.initializer is not None
        rule, plain = _rule(operation.initializer, target.atom.role), _REINITIALIZED
    return None if rule == _KEEP else _Entry(target.head, rule, plain)


def _rule(init: Initializer, role: str) -> tuple[Any, ...]:
    rule = {"weight": "draw", "bias": init.biases, "layernorm": init.layernorm}[role]
    if rule == "draw":
        return ("shuffle",) if init.distribution == "shuffle" else ("draw", init.distribution, init.sd, init.cut)
    return ("constant",) if rule in ("zero", "reset") else (rule,)


def _is_own(atom: Atom, entry: _Entry, order: Sequence[int], version: str) -> bool:
    """Whether a donor gives an atom its own pretrained values."""
    return entry.operation.donor == version and (atom.layer is None or order[atom.layer - 1] == atom.layer)


def _add(entries: list[_Entry], entry: _Entry, own: bool) -> None:
    """Appends what is done to an atom next, without what it overwrites."""
    if entry.overwrites:
        entries[:] = [earlier for earlier in entries if not entry.covers(earlier)]
    if own and not any(entry.meets(earlier) for earlier in entries):
        return  # the pretrained values are what is there
    entries.append(entry)


def _told(done: dict[Atom, list[_Entry]], anatomy: Anatomy) -> Iterator[Operation]:
    """The operations that do this, level by level: on each level no two of them meet."""
    levels: dict[int, list[tuple[Target, _Entry]]] = defaultdict(list)
    for atom in anatomy.atoms:
        heights: list[tuple[_Entry, int]] = []
        for entry in done.get(atom, ()):
            height = max((above + 1 for earlier, above in heights if entry.meets(earlier)), default=0)
            heights.append((entry, height))
            levels[height].append((Target(atom, entry.head), entry))
    for _, level in sorted(levels.items()):
        drawn = {target: entry.rule for target, entry in level if entry.operation.kind == REINITIALIZE}
        yield from _reinitialized(drawn, anatomy)
        others: dict[Operation, set[Target]] = defaultdict(set)
        for target, entry in level:
            if entry.operation.kind != REINITIALIZE:
                layer = entry.operation.donor_layer
                at_home = replace(entry.operation, donor_layer=None if layer == target.atom.layer else layer)
                others[at_home].add(target)
        named = [replace(operation, regions=regions.names(meant, anatomy)) for operation, meant in others.items()]
        yield from sorted(named, key=lambda operation: (operation.kind, operation.regions))


class _Unit(NamedTuple):
    """A region that is reinitialized alike: the rule of its weights, its biases and its LayerNorms; None: it has none
    of these, ("keep",): they are left."""

    targets: tuple[Target, ...]
    weights: tuple[Any, ...] | None
    biases: tuple[Any, ...] | None
    layernorm: tuple[Any, ...] | None

    @property
    def rules(self) -> tuple[Any, ...]:
        return (self.weights, self.biases, self.layernorm)


_ROLES = ("weight", "bias", "layernorm")


def _reinitialized(drawn: dict[Target, tuple[Any, ...]], anatomy: Anatomy) -> Iterator[Operation]:
    """Reinitializations of one level, as few as there are different initializers."""
    units = [unit for targets in _whole_regions(anatomy, drawn) for unit in _units(targets, drawn)]
    groups: dict[tuple[Any, ...], list[_Unit]] = defaultdict(list)
    for weights in dict.fromkeys(unit.weights for unit in units):
        alike = [unit for unit in units if unit.weights == weights]
        # A region without biases, or without LayerNorms, goes with those that have some if these agree.
        for index in (2, 3):
            known = {unit[index] for unit in alike if unit[index] is not None}
            rule = known.pop() if len(known) == 1 and weights is not None else _KEEP
            alike = [unit if unit[index] is not None else _with(unit, index, rule) for unit in alike]
        for unit in alike:
            groups[unit.rules].append(unit)
    told = []
    for rules, members in groups.items():
        meant = {target for unit in members for target in unit.targets}
        told.append(Operation(REINITIALIZE, regions.names(meant, anatomy), _initializer(*rules)))
    yield from sorted(told, key=lambda operation: operation.regions)


def _with(unit: _Unit, index: int, rule: tuple[Any, ...]) -> _Unit:
    return _Unit(*(rule if at == index else value for at, value in enumerate(unit)))


def _whole_regions(anatomy: Anatomy, drawn: Iterable[Target]) -> Iterator[list[Target]]:
    """The regions that initializers are for: embeddings, parts of layers, heads, the pooler."""
    parts: dict[tuple[str, ...], list[Target]] = defaultdict(list)
    for atom in anatomy.atoms:
        parts[(atom.area, atom.part) if atom.layer is not None else (atom.area,)].append(Target(atom))
    yield from parts.values()
    for area, head in sorted({(target.atom.area, target.head) for target in drawn if target.head != WHOLE}):
        yield [Target(Atom(area, *inside), head) for inside in HEAD_ATOMS]


def _units(targets: list[Target], drawn: dict[Target, tuple[Any, ...]]) -> Iterator[_Unit]:
    """One for the whole region, if one initializer does it; else one for each atom that is touched."""
    rules = [{drawn.get(t, _KEEP) for t in targets if t.atom.role == role} for role in _ROLES]
    if all(len(of_role) <= 1 for of_role in rules):
        weights, biases, layernorm = (next(iter(of_role), None) for of_role in rules)
        from_one = all(rule is None or rule[0] != "draw" or rule == weights for rule in (biases, layernorm))
        if weights not in (None, _KEEP) and from_one:
            yield _Unit(tuple(targets), weights, biases, layernorm)
            return
    for target in targets:
        if target in drawn:
            yield _Unit((target,), *(drawn[target] if target.atom.role == role else None for role in _ROLES))


def _initializer(weights: tuple[Any, ...] | None, biases: tuple[Any, ...], layernorm: tuple[Any, ...]) -> Initializer:
    drawn = next((rule for rule in (weights, biases, layernorm) if rule is not None and rule[0] == "draw"), None)
    shuffled = weights == ("shuffle",)
    distribution, sd, cut = drawn[1:] if drawn is not None else ("shuffle" if shuffled else "none", None, None)
    in_words = {"draw": "draw", "shuffle": "shuffle", "keep": "keep"}
    return Initializer(
        distribution, sd, cut, in_words.get(biases[0], "zero"), in_words.get(layernorm[0], "reset")
    )
