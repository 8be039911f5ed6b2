"""Treatments: what is done to the pretrained weights, as plain data, decided without torch.

A treatment is a list of operations on regions of the model; this is its normal form (normal.py makes it): equal effects
are equal treatments, whichever scheme or list asked for them. What every scheme does to the parts around the layers is
stated here once:
- embeddings: kept, except by `scratch`, which reinitializes them;
- pooler: kept pretrained where the model has one, except by `scratch`;
- classifier: always new, drawn from the `head` stream, the same for the same seed and task under every scheme.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from bertxfer.config.keys import later
from bertxfer.trials import regions
from bertxfer.trials.initializer import Initializer

REINITIALIZE, STATS, CORRUPT, TRANSPLANT, AVERAGE = "reinitialize", "stats", "corrupt", "transplant", "average"
OPERATIONS = (REINITIALIZE, STATS, CORRUPT, TRANSPLANT, AVERAGE)
DRAWING = (REINITIALIZE, STATS, CORRUPT)  # from the stream `redraw`
FRESH = (REINITIALIZE, STATS)  # after these nothing of the weights themselves is left


@dataclass(frozen=True)
class Operation:
    """New values for regions.

    reinitialize: drawn, as the initializer says
    stats: drawn from a normal distribution with the tensor's own mean and standard deviation
    corrupt: sqrt(1 - amount²) of the tensor and `amount` of noise that has its standard deviation
    transplant: the same region of another model
    average: 1 - amount of the tensor and `amount` of that of another model
    """

    kind: str
    regions: tuple[str, ...]
    initializer: Initializer | None = None
    amount: float | None = None
    donor: str | None = None  # the version of the other model
    donor_name: str | None = field(default=None, compare=False)  # what it is called; no part of an id
    # The donor's layer, where it is not the one at the same place: layers were moved after the operation.
    donor_layer: int | None = None

    @property
    def draws(self) -> bool:
        """Whether it draws from the stream `redraw`."""
        init = self.initializer
        if init is None:
            return self.kind in (STATS, CORRUPT)
        return init.distribution != "none" or "shuffle" in (init.biases, init.layernorm)


@dataclass(frozen=True)
class Treatment:
    """Equal treatments are the same experiment, whichever scheme asked for them.

    `order` has at position i the pretrained layer that stands there; empty: as pretrained. A layer that is not in it is
    deleted. Layers are moved before anything else is done, and regions name layers by where they stand then.
    `redrawn` names regions: "embeddings", "pooler", "layer 3 attention", "layer 3 feedforward", "layer 3 head 5".
    `operations` has what is done one after another where that is more than one reinitialization of such regions.
    """

    order: tuple[int, ...] = ()
    redrawn: tuple[str, ...] = ()
    initializer: Initializer | None = None
    lr_factor: float = 1.0
    operations: tuple[Operation, ...] = later(())

    def depth(self, layers: int) -> int:
        """How many layers are left of a model that has so many."""
        return len(self.order) or layers

    @property
    def steps(self) -> tuple[Operation, ...]:
        """What is done after layers were moved."""
        if not self.redrawn:
            return self.operations
        return (Operation(REINITIALIZE, self.redrawn, self.initializer),)

    @property
    def draws(self) -> bool:
        return any(step.draws for step in self.steps)

    @property
    def donors(self) -> set[str]:
        """The versions of the other models that it takes weights from."""
        return {step.donor for step in self.steps if step.donor is not None}


def describe(treatment: Treatment, layers: int, permuted: str | None = None) -> str:
    """The treatment of a model of so many layers in a table's few words. `permuted` takes the place of the order of
    permuted layers, where all orders share one row."""
    said = [
        *_order(treatment.order, permuted),
        *(_operation(step, treatment.depth(layers)) for step in treatment.steps),
    ]
    if treatment.lr_factor != 1:
        said[-1] += f", lr x{treatment.lr_factor:g}"
    return ", then ".join(said) or "as pretrained"


def _order(order: tuple[int, ...], permuted: str | None) -> list[str]:
    if not order:
        return []
    if permuted is not None:
        return [permuted]
    if sorted(set(order)) == list(order):
        return [f"only {regions.spans('layer', order)} left, the others deleted"]
    return ["order " + " ".join(map(str, order))]


def _operation(step: Operation, layers: int) -> str:
    everything = (
        "embeddings",
        *(f"layer {n} {part}" for n in range(1, layers + 1) for part in regions.PARTS),
        "pooler",
    )
    where = "everything" if step.regions == everything else regions.in_words(step.regions)
    layer = "" if step.donor_layer is None else f"layer {step.donor_layer} of "
    donor = f"{layer}{step.donor_name or (step.donor or '')[:8]}"
    if step.kind == STATS:
        return f"{where} drawn by mean and sd"
    if step.kind == CORRUPT:
        return f"{where} corrupted by {step.amount:g}"
    if step.kind == TRANSPLANT:
        return f"{where} from {donor}"
    if step.kind == AVERAGE:
        return f"{where} averaged with {step.amount:g} of {donor}"
    assert step.initializer is not None
    return f"{where} reinitialized{''.join(_details(step.initializer, step.regions))}"


def _details(init: Initializer, reinitialized: tuple[str, ...]) -> Iterable[str]:
    """What sets the initializer apart from BERT's own."""
    if init.distribution == "none":  # nothing is drawn: biases or LayerNorms alone
        return
    if (init.distribution, init.sd, init.cut) != ("truncated_normal", 0.02, 2.0):
        details = [f"{k}={v:g}" for k, v in (("sd", init.sd), ("cut", init.cut)) if v is not None]
        yield ", " + " ".join([init.distribution.replace("_", " "), *details])
    usual = ("shuffle", "shuffle") if init.distribution == "shuffle" else ("zero", "reset")
    in_words = {"keep": "kept", "draw": "drawn", "shuffle": "shuffled", "zero": "set to 0", "reset": "set to 1 and 0"}
    if init.biases != usual[0]:
        yield f", biases {in_words[init.biases]}"
    if init.layernorm != usual[1] and any(" head " not in region and region != "pooler" for region in reinitialized):
        yield f", LayerNorm {in_words[init.layernorm]}"
