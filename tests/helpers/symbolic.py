"""What a list of operations does to a model, followed slowly: every head's part of every tensor as an expression.

It knows nothing of normal forms. Equal expressions are equal values, whatever the numbers are.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

MODULES = {
    "query": "attention.query",
    "key": "attention.key",
    "value": "attention.value",
    "output": "attention.output",
    "intermediate": "feedforward.intermediate",
    "out": "feedforward.output",
}
IN_HEADS = {("query", "w"), ("query", "b"), ("key", "w"), ("key", "b"), ("value", "w"), ("value", "b"), ("output", "w")}
NORMS = [("attention.norm", "n"), ("feedforward.norm", "n")]
OF_LAYER = [*((module, kind) for module in MODULES for kind in "wb"), *NORMS]


Embeddings = tuple[tuple[str, str], ...]  # what a family's embeddings have: word, w


class Cell(NamedTuple):
    """A head's part of a tensor; tensors that no head divides have one cell."""

    place: str  # "embeddings", "layer 2", "pooler"
    name: str
    kind: str  # w, b, n: a LayerNorm
    head: int


def cells(layers: int, heads: int, embeddings: Embeddings) -> list[Cell]:
    found = [Cell("embeddings", name, kind, 0) for name, kind in embeddings]
    for layer in range(1, layers + 1):
        for name, kind in OF_LAYER:
            several = range(1, heads + 1) if (name, kind) in IN_HEADS else [0]
            found += [Cell(f"layer {layer}", name, kind, head) for head in several]
    return [*found, Cell("pooler", "", "w", 0), Cell("pooler", "", "b", 0)]


def meant(region: str, cell: Cell, layers: int) -> bool:
    """Whether a region has a cell in it, for the few kinds of regions that the tests use."""
    whole, *holes = region.split(" except ")
    if any(meant(hole, cell, layers) for hole in holes):
        return False
    if whole == "everything":
        return True
    if whole.startswith(("embeddings", "pooler")):
        place, _, name = whole.partition(" ")
        return cell.place == place and name in ("", cell.name)
    match = re.fullmatch(r"(?:layers?\b(?: (\d+)(?:-(\d+))?)?)? ?(.*)", whole)
    assert match is not None, region
    if re.match(r"layers?\b", whole):
        first, last = int(match[1] or 1), int(match[2] or match[1] or layers)
        if not cell.place.startswith("layer ") or not first <= int(cell.place[6:]) <= last:
            return False
    return all(_is(word, cell) for word in re.sub(r"head (\d)", r"head\1", match[3]).split())


def _is(word: str, cell: Cell) -> bool:
    module = MODULES.get(cell.name, cell.name)
    if word.startswith("head"):
        return (cell.name, cell.kind) in IN_HEADS and cell.head == int(word[4:])
    kinds = {"weights": "w", "biases": "b", "layernorms": "n"}
    return cell.kind == kinds[word] if word in kinds else module.startswith(f"{word}.") or cell.name == word


def effect(listed: list[Mapping[str, Any]], layers: int, heads: int, embeddings: Embeddings) -> dict[Cell, Any]:
    """The expression of every cell at the end. A pretrained value is ("theirs", model, cell)."""
    values: dict[Cell, Any] = {cell: ("theirs", "own", cell) for cell in cells(layers, heads, embeddings)}
    depth = layers
    for item in listed:
        if "permute" in item or "delete" in item:
            order = item.get("permute") or [n for n in range(1, depth + 1) if n not in item["delete"]]
            depth = len(order)
            values = _arranged(values, order)
            continue
        kind, region = next((key, value) for key, value in item.items() if key not in ("amount", "donor", "init"))
        for cell, value in _applied(kind, region, item, dict(values), depth).items():
            values[cell] = value
    return values


def _arranged(values: dict[Cell, Any], order: list[int]) -> dict[Cell, Any]:
    moved = {cell: value for cell, value in values.items() if not cell.place.startswith("layer ")}
    for position, layer in enumerate(order, start=1):
        for cell, value in values.items():
            if cell.place == f"layer {layer}":
                moved[cell._replace(place=f"layer {position}")] = value
    return moved


def _applied(kind: str, region: str, item: Mapping[str, Any], values: dict[Cell, Any], depth: int) -> dict[Cell, Any]:
    changed: dict[Cell, Any] = {}
    for cell in values:
        if not meant(region, cell, depth):
            continue
        # An operation on a whole tensor reads all of it: its spread, or the values that are shuffled.
        same = [other for other in values if other[:3] == cell[:3]]
        by_head = not all(meant(region, other, depth) for other in same)
        same = [cell] if by_head else same
        read = tuple(values[c] for c in sorted(same))
        which = (cell.head, "of a head" if by_head else "of a whole")
        old = values[cell]
        if kind == "reinitialize":
            changed[cell] = _redrawn(item["init"], cell, which, old, read)
        elif kind == "stats":
            changed[cell] = ("stats", which, read)
        elif kind == "corrupt":
            changed[cell] = old if item["amount"] == 0 else ("corrupt", item["amount"], which, old, read)
        elif kind == "transplant":
            changed[cell] = ("theirs", item["donor"], cell)
        else:
            theirs, amount = ("theirs", item["donor"], cell), item["amount"]
            mixed = ("average", amount, old, theirs)
            changed[cell] = {0: old, 1: theirs}.get(amount, old if old == theirs else mixed)
    return changed


def _redrawn(init: Mapping[str, Any], cell: Cell, which: Any, old: Any, read: Any) -> Any:
    rule = {"w": "draw", "b": init["biases"], "n": init["layernorm"]}[cell.kind]
    if rule == "keep":
        return old
    if rule in ("zero", "reset"):
        return ("constant",)
    if rule == "shuffle" or init["distribution"] == "shuffle":
        return ("shuffled", which, read)
    return (
        "drawn",
        init["distribution"],
        init["sd"],
        init["cut"] if "truncated" in init["distribution"] else None,
        which,
    )
