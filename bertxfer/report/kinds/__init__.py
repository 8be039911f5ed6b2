"""The kinds of figures, each a module of its own. A new one is a module here and its name below (docs/figures.md)."""

from bertxfer.report.kinds import (
    attention,
    bars,
    curves,
    epochs,
    heads,
    loss,
    matrix,
    path,
    points,
    scatter,
    similarity,
    surgery,
    table,
    treatments,
    weights,
)
from bertxfer.report.kinds.kind import Kind

_SCORES = (curves, scatter, points, bars, treatments, heads, matrix)
_MODULES = (*_SCORES, loss, epochs, weights, attention, surgery, similarity, path, table)
# For a sweep without a block, the first of these that suits it is taken.
KINDS: dict[str, Kind] = {module.KIND.name: module.KIND for module in _MODULES}

__all__ = ["KINDS", "Kind"]
