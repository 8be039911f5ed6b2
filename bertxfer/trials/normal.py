"""The normal form of a list of operations: equal effects are equal treatments, and order matters only where it matters.

Layers are moved first. What is done to each atom is followed through the list on its own; what an operation overwrites
is dropped with it. What is left is told again in as few operations as the atoms allow, always in the same order.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from operator import itemgetter
from typing import Any, NamedTuple

from bertxfer.trials import regions
from bertxfer.trials.families import HEAD_ATOMS, LAYER_ATOMS, Atom
from bertxfer.trials.initializer import Initializer
from bertxfer.trials.regions import WHOLE, Anatomy, Target
from bertxfer.trials.treatment import AVERAGE, CORRUPT, FRESH, REINITIALIZE, TRANSPLANT, Operation, Treatment


@dataclass(frozen=True)
class Arrangement:
    """Layers moved or deleted: at position i stands the layer that stood at `order[i]` before."""

    order: tuple[int, ...]


Step = Arrangement | Operation
_Rule = tuple[Any, ...]  # of a reinitialization: (draw, distribution, sd, cut), (shuffle,), (constant,), (keep,)
_Donor = tuple[str, int | None]  # a model's version and the number of its layer
_KEEP = ("keep",)
_REINITIALIZED = Operation(REINITIALIZE, ())  # how, a rule says, atom by atom


class _Entry(NamedTuple):
    """What is done to one atom, or to one head of it."""

    head: int
    rule: _Rule  # empty where nothing is reinitialized
    operation: Operation

    def meets(self, other: "_Entry") -> bool:
        return WHOLE in (self.head, other.head) or self.head == other.head

    def extent(self, heads: int) -> set[int]:
        return set(range(1, heads + 1)) if self.head == WHOLE else {self.head}

    @property
    def overwrites(self) -> bool:
        """Whether nothing of the values before it matters."""
        return self.operation.kind == TRANSPLANT or self.rule[:1] in (("draw",), ("constant",))

    @property
    def donor(self) -> _Donor | None:
        """Whose values it brings."""
        return None if self.operation.donor is None else (self.operation.donor, self.operation.donor_layer)

    def gives(self, version: str) -> bool:
        """Whether it makes the whole atom that of a layer of this model, as it was pretrained."""
        return self.head == WHOLE and self.operation.kind == TRANSPLANT and self.operation.donor == version

    @property
    def by_element(self) -> bool:
        """Whether it does the same to a tensor as to each head of it in turn."""
        return self.operation.kind in (TRANSPLANT, AVERAGE) or self.rule == ("constant",)


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
                done[_at(target.atom, order)].append(entry)
    places = {layer: place for place, layer in enumerate(order, start=1)}
    kept = {
        _moved(atom, places): _simplified(entries, anatomy.heads, (version, atom.layer))
        for atom, entries in done.items()
        if atom.layer is None or atom.layer in places
    }
    based = _rebased(order, kept, anatomy, version)
    operations = tuple(_told(kept, replace(anatomy, layers=len(order))))
    moved = () if based == list(anatomy.every_layer) else tuple(based)
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
    rule: _Rule = ()
    if operation.kind == REINITIALIZE:
        assert operation.initializer is not None
        rule, plain = _rule(operation.initializer, target.atom.role), _REINITIALIZED
    return None if rule == _KEEP else _Entry(target.head, rule, plain)


def _rule(init: Initializer, role: str) -> _Rule:
    rule = {"weight": "draw", "bias": init.biases, "layernorm": init.layernorm}[role]
    if rule == "draw":
        return ("shuffle",) if init.distribution == "shuffle" else ("draw", init.distribution, init.sd, init.cut)
    return ("constant",) if rule in ("zero", "reset") else (rule,)


def _simplified(entries: list[_Entry], heads: int, pretrained: _Donor) -> list[_Entry]:
    """What is done to one atom, without what is overwritten and what gives it the values that it has."""
    if any(entry.head != WHOLE for entry in entries):
        every = range(1, heads + 1)
        split = [
            [entry._replace(head=head) for head in every] if entry.head == WHOLE and entry.by_element else [entry]
            for entry in entries
        ]
        entries = [entry for pieces in split for entry in pieces]
    left: list[_Entry] = []
    whose: dict[int, _Donor | None] = dict.fromkeys(range(1, heads + 1), pretrained)
    for entry in _read_later(entries, heads):
        extent = entry.extent(heads)
        if entry.donor is None or any(whose[head] != entry.donor for head in extent):
            left.append(entry)
            whose |= dict.fromkeys(extent, entry.donor if entry.overwrites else None)
    return _merged(left, heads)


def _read_later(entries: list[_Entry], heads: int) -> list[_Entry]:
    """The entries of which something is left at the end."""
    return [entry for at, entry in enumerate(entries) if entry.extent(heads) & _live_before(entries[at + 1 :], heads)]


def _live_before(entries: list[_Entry], heads: int) -> set[int]:
    """The heads whose values before these entries have left something at their end."""
    live = set(range(1, heads + 1))
    for entry in reversed(entries):
        extent = entry.extent(heads)
        if extent & live:
            live = live - extent if entry.overwrites else live | extent
    return live


def _merged(entries: list[_Entry], heads: int) -> list[_Entry]:
    """The same entries; one that is done to every head is done to all."""
    heights = list(_levels(entries))
    of_heads = [(height, entry) for height, entry in heights if entry.head != WHOLE and entry.by_element]
    alike = Counter((height, entry._replace(head=WHOLE)) for height, entry in of_heads)
    merged = []
    for height, entry in sorted(heights, key=itemgetter(0)):
        whole = entry._replace(head=WHOLE)
        if alike[height, whole] < heads:
            merged.append(entry)
        elif entry.head == 1:
            merged.append(whole)
    return merged


def _levels(entries: list[_Entry]) -> Iterator[tuple[int, _Entry]]:
    """Each entry with the number of those, one after another, that must come before it."""
    heights: list[tuple[int, _Entry]] = []
    for entry in entries:
        height = max((above + 1 for above, earlier in heights if entry.meets(earlier)), default=0)
        heights.append((height, entry))
    yield from heights


def _rebased(order: list[int], done: dict[Atom, list[_Entry]], anatomy: Anatomy, version: str) -> list[int]:
    """The layers that stand at each place, as far as it matters: a layer that is wholly overwritten may be any, and one
    that gets all the values of another layer of the same model is that layer. Changes what is done accordingly."""
    based: list[int | None] = []
    for place, layer in enumerate(order, start=1):
        atoms = [Atom(f"layer {place}", *inside) for inside in LAYER_ATOMS]
        sources = [_source(done.get(atom, []), layer, version, anatomy.heads) for atom in atoms]
        base = next((source for source in sources if source is not None), None)
        name = next(
            (entry.operation.donor_name for a in atoms for entry in done.get(a, []) if entry.gives(version)), None
        )
        for atom, source in zip(atoms, sources, strict=True):
            rest = [entry for at, entry in enumerate(done.get(atom, [])) if at or not entry.gives(version)]
            if source not in (None, base):
                taken = Operation(TRANSPLANT, (), donor=version, donor_name=name, donor_layer=source)
                rest.insert(0, _Entry(WHOLE, (), taken))
            if source is not None:
                done[atom] = rest
        based.append(base)
    free = [layer for layer in anatomy.every_layer if layer not in based]
    settled = []
    for place, known in enumerate(based, start=1):
        if known is None:
            known = place if place in free else free[0]
            free.remove(known)
        settled.append(known)
    return settled


def _source(entries: list[_Entry], layer: int, version: str, heads: int) -> int | None:
    """The layer of this model whose values an atom begins with; None where they do not matter."""
    if entries and entries[0].gives(version):
        return entries[0].operation.donor_layer
    return layer if _live_before(entries, heads) else None


def _told(done: dict[Atom, list[_Entry]], anatomy: Anatomy) -> Iterator[Operation]:
    """The operations that do this, level by level: on each level no two of them meet."""
    levels: dict[int, list[tuple[Target, _Entry]]] = defaultdict(list)
    for atom in anatomy.atoms:
        for height, entry in _levels(done.get(atom, [])):
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


@dataclass(frozen=True)
class _Unit:
    """A region that is reinitialized alike: what is done to its weights, its biases and its LayerNorms. None: it has
    none of these."""

    targets: tuple[Target, ...]
    weight: _Rule | None
    bias: _Rule | None
    layernorm: _Rule | None

    @property
    def rules(self) -> tuple[_Rule | None, ...]:
        return (self.weight, self.bias, self.layernorm)


_ROLES = ("weight", "bias", "layernorm")


def _reinitialized(drawn: dict[Target, _Rule], anatomy: Anatomy) -> Iterator[Operation]:
    """Reinitializations of one level, as few as there are different initializers."""
    drawn = _by_heads(drawn, anatomy.heads)
    units = [unit for targets in _whole_regions(anatomy, drawn) for unit in _units(targets, drawn)]
    groups: dict[tuple[_Rule | None, _Rule, _Rule], list[_Unit]] = defaultdict(list)
    for weight in dict.fromkeys(unit.weight for unit in units):
        alike = [unit for unit in units if unit.weight == weight]
        # A region without biases, or without LayerNorms, goes with those that have some if these agree.
        bias, layernorm = (_agreed(weight, {unit.rules[index] for unit in alike}) for index in (1, 2))
        for unit in alike:
            groups[weight, unit.bias or bias, unit.layernorm or layernorm].append(unit)
    told = []
    for rules, members in groups.items():
        meant = {target for unit in members for target in unit.targets}
        told.append(Operation(REINITIALIZE, regions.names(meant, anatomy), _initializer(*rules)))
    yield from sorted(told, key=lambda operation: operation.regions)


def _by_heads(drawn: dict[Target, _Rule], heads: int) -> dict[Target, _Rule]:
    """Biases of all heads that are set to 0 are told head by head where the weights are drawn so."""
    in_heads = {target.atom.area for target in drawn if target.head != WHOLE}
    split: dict[Target, _Rule] = {}
    for target, rule in drawn.items():
        whole = target.head == WHOLE and target.atom.area in in_heads and target.atom.inside in HEAD_ATOMS
        several = range(1, heads + 1) if whole and rule == ("constant",) else [target.head]
        split |= {Target(target.atom, head): rule for head in several}
    return split


def _agreed(weight: _Rule | None, rules: set[_Rule | None]) -> _Rule:
    known = [rule for rule in rules if rule is not None]
    return known[0] if len(known) == 1 and weight is not None else _KEEP


def _whole_regions(anatomy: Anatomy, drawn: Iterable[Target]) -> Iterator[list[Target]]:
    """The regions that initializers are for: embeddings, parts of layers, heads, the pooler."""
    parts: dict[tuple[str, ...], list[Target]] = defaultdict(list)
    for atom in anatomy.atoms:
        parts[(atom.area, atom.part) if atom.layer is not None else (atom.area,)].append(Target(atom))
    yield from parts.values()
    for area, head in sorted({(target.atom.area, target.head) for target in drawn if target.head != WHOLE}):
        yield [Target(Atom(area, *inside), head) for inside in HEAD_ATOMS]


def _units(targets: list[Target], drawn: dict[Target, _Rule]) -> Iterator[_Unit]:
    """One for the whole region, if one initializer does it; else one for each atom that is touched."""
    rules = [{drawn.get(t, _KEEP) for t in targets if t.atom.role == role} for role in _ROLES]
    if all(len(of_role) <= 1 for of_role in rules):
        weight, bias, layernorm = (next(iter(of_role), None) for of_role in rules)
        from_one = all(rule is None or rule[0] != "draw" or rule == weight for rule in (bias, layernorm))
        if weight not in (None, _KEEP) and from_one:
            yield _Unit(tuple(targets), weight, bias, layernorm)
            return
    for target in targets:
        if target in drawn:
            weight, bias, layernorm = (drawn[target] if target.atom.role == role else None for role in _ROLES)
            yield _Unit((target,), weight, bias, layernorm)


def _initializer(weight: _Rule | None, bias: _Rule, layernorm: _Rule) -> Initializer:
    drawn = next((rule for rule in (weight, bias, layernorm) if rule is not None and rule[0] == "draw"), None)
    nothing = "shuffle" if weight == ("shuffle",) else "none"
    distribution, sd, cut = drawn[1:] if drawn is not None else (nothing, None, None)
    return Initializer(
        distribution,
        sd,
        cut,
        "zero" if bias == ("constant",) else bias[0],
        "reset" if layernorm == ("constant",) else layernorm[0],
    )
