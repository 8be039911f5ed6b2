"""Treatments: what is done to the pretrained weights, as plain data, decided without torch.

What every scheme does to the parts around the layers is stated here once:
- embeddings: kept, except by `scratch`, which reinitializes them;
- pooler: kept pretrained where the model has one, except by `scratch`;
- classifier: always new, drawn from the `head` stream, the same for the same seed and task under every scheme.
"""

from dataclasses import dataclass

from bertxfer.trials.initializer import Initializer

PARTS = ("attention", "feedforward")


@dataclass(frozen=True)
class Treatment:
    """Equal treatments are the same experiment, whichever scheme asked for them.

    `order` has at position i the pretrained layer that stands there; empty: as pretrained. A layer that is not in it is
    deleted.
    `redrawn` names regions: "embeddings", "pooler", "layer 3 attention", "layer 3 feedforward", "layer 3 head 5".
    """

    order: tuple[int, ...] = ()
    redrawn: tuple[str, ...] = ()
    initializer: Initializer | None = None
    lr_factor: float = 1.0

    def depth(self, layers: int) -> int:
        """How many layers are left of a model that has so many."""
        return len(self.order) or layers


def describe(treatment: Treatment) -> str:
    """The treatment in a table's few words."""
    if treatment.order:
        if sorted(treatment.order) == list(treatment.order):
            return f"only {_spans('layer', list(treatment.order))} left, the others deleted"
        return "order " + " ".join(map(str, treatment.order))
    if treatment.initializer is None:
        return "as pretrained"
    init = treatment.initializer
    words = "everything" if "embeddings" in treatment.redrawn else _areas(treatment.redrawn)
    words += " reinitialized"
    if (init.distribution, init.sd, init.cut) != ("truncated_normal", 0.02, 2.0):  # BERT's own
        details = [f"{k}={v:g}" for k, v in (("sd", init.sd), ("cut", init.cut)) if v is not None]
        words += ", " + " ".join([init.distribution.replace("_", " "), *details])
    usual = ("shuffle", "shuffle") if init.distribution == "shuffle" else ("zero", "reset")
    in_words = {"keep": "kept", "draw": "drawn", "shuffle": "shuffled", "zero": "set to 0", "reset": "set to 1 and 0"}
    if init.biases != usual[0]:
        words += f", biases {in_words[init.biases]}"
    if init.layernorm != usual[1] and " head " not in treatment.redrawn[0]:
        words += f", LayerNorm {in_words[init.layernorm]}"
    if treatment.lr_factor != 1:
        words += f", lr x{treatment.lr_factor:g}"
    return words


def _areas(regions: tuple[str, ...]) -> str:
    """Regions in few words: "layers 7-12", "layers 1,3 attention", "layer 11 heads 1-3"."""
    parts: dict[int, list[str]] = {}
    for region in regions:
        _, number, part = region.split(" ", 2)
        parts.setdefault(int(number), []).append(part)
    layers: dict[str, list[int]] = {}
    for layer, of_layer in parts.items():
        layers.setdefault("" if tuple(of_layer) == PARTS else _part_words(of_layer), []).append(layer)
    return " and ".join(f"{_spans('layer', numbers)} {words}".strip() for words, numbers in layers.items())


def _part_words(parts: list[str]) -> str:
    heads = [int(part.removeprefix("head ")) for part in parts if part.startswith("head ")]
    return _spans("head", heads) if heads else " ".join(parts)


def _spans(noun: str, numbers: list[int]) -> str:
    """ "layer 3", "layers 3-5,9"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    spans = ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"{noun}{'s' if len(numbers) > 1 else ''} {spans}"
