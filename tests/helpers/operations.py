"""Random lists of operations on a small model."""

from typing import Any

from hypothesis import strategies as st

LAYERS, HEADS = 3, 2
Listed = list[dict[str, Any]]


def numbers(draw: Any, most: int) -> str:
    first, last = sorted(draw(st.tuples(*[st.integers(1, most)] * 2)))
    return str(first) if first == last else f"{first}-{last}"


WORDS = ["", "attention", "feedforward", "query", "output", "weights", "biases", "layernorms", "attention weights"]
HOLES = [
    "",
    " except layernorms",
    " except biases",
    " except layer 1",
    " except embeddings",
    " except key",
    " except layer 1 head 1",
]
INITS = [
    {"distribution": "truncated_normal", "sd": 0.02, "cut": 2.0, "biases": "zero", "layernorm": "reset"},
    {"distribution": "normal", "sd": 0.02, "cut": None, "biases": "keep", "layernorm": "keep"},
    {"distribution": "normal", "sd": 0.1, "cut": None, "biases": "draw", "layernorm": "reset"},
    {"distribution": "shuffle", "sd": None, "cut": None, "biases": "shuffle", "layernorm": "keep"},
]


@st.composite
def regions(draw: Any, depth: int) -> str:
    area = draw(st.sampled_from(["everything", "embeddings", "embeddings word", "pooler", "layer", "layer", "head"]))
    if area == "head":
        return f"layer {draw(st.integers(1, depth))} head {draw(st.integers(1, HEADS))}"
    if area != "layer":
        return str(area)
    return f"layers {numbers(draw, depth)} {draw(st.sampled_from(WORDS))}".strip()


@st.composite
def lists(draw: Any, most: int = 5) -> Listed:
    """Operations one after another; regions and orders are of as many layers as are left."""
    listed: Listed = []
    depth = LAYERS
    for _ in range(draw(st.integers(0, most))):
        kind = draw(st.sampled_from(["reinitialize", "stats", "corrupt", "transplant", "average", "permute", "delete"]))
        if kind == "permute":
            listed.append({kind: draw(st.permutations(range(1, depth + 1)))})
        elif kind == "delete":
            if depth > 1:
                listed.append({kind: [draw(st.integers(1, depth))]})
                depth -= 1
        else:
            region = draw(regions(depth))
            hole = draw(st.sampled_from(HOLES)) if region == "everything" else ""
            item: dict[str, Any] = {kind: region + hole}
            if kind == "reinitialize":
                item["init"] = draw(st.sampled_from(INITS))
            if kind in ("corrupt", "average"):
                item["amount"] = draw(st.sampled_from([0, 0.5, 1]))
            if kind in ("transplant", "average"):
                item["donor"] = draw(st.sampled_from(["own", "other"]))
            listed.append(item)
    return listed
