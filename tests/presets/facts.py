"""What the papers say about the runs behind each of their figures and tables.

Written from the papers' texts, not from conf/experiment, so that a preset that says something else is found. A number
such as 002 is the file of the text:

- 002: tamkin2020, final version; 004: its first version, which gives way where the two differ
- 001: singh2020
- 000: cs224n2020
- 003: kovaleva2019, notes on its section 4.3

What a text does not state is None, and is compared with nothing. Where a text contradicts itself, all that it says is
allowed. The reading `code` is what the code published with tamkin2020 does where that is not what the texts say.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

UNCASED, CASED = "google-bert/bert-base-uncased", "google-bert/bert-base-cased"
ALL = "all"  # the whole training set
LAYERS = range(1, 13)
HEADS = range(1, 13)
CODE = "the code published with tamkin2020"


@dataclass(frozen=True)
class Fact:
    value: Any
    where: str  # the file, and the section in it


@dataclass(frozen=True)
class Place:
    """What is done to BERT at one place of a figure. Without anything: pretrained, then fine-tuned."""

    redrawn: frozenset[str] = frozenset()  # "layer 3", "layer 3 head 5", "embeddings", "pooler"
    lr_factor: float = 1.0  # of what is redrawn
    norms_preserved: bool = False  # LayerNorm is kept where the paper usually does not
    shuffled: bool = False  # its layers in another order, whichever that is
    probed: int | None = None  # the layer whose output a classifier reads, all of BERT being frozen
    after: tuple[str, ...] = ()  # fine-tuned on these tasks first
    trained: bool = True

    def __str__(self) -> str:
        words = [f"{', '.join(sorted(self.redrawn, key=_in_order))} reinitialized"] if self.redrawn else []
        words += [f"learning rate x{self.lr_factor:g}"] if self.lr_factor != 1 else []
        words += ["LayerNorm preserved"] if self.norms_preserved else []
        words += ["layers shuffled"] if self.shuffled else []
        words += [f"layer {self.probed} probed"] if self.probed is not None else []
        words += [f"after {', '.join(self.after)}"] if self.after else []
        words += [] if self.trained else ["not fine-tuned"]
        return "; ".join(words) or "as pretrained"


def _in_order(region: str) -> list[tuple[int, str]]:
    return [(int(word) if word.isdigit() else 0, word) for word in region.split()]


Places = frozenset[Place]


@dataclass(frozen=True)
class Init:
    """How weights are redrawn. None: the text does not say."""

    distribution: str
    spreads: (
        tuple[tuple[float, float], ...] | None
    )  # sd and where it is cut, in units of sd; several: a text with several
    biases: str | None  # zero, keep
    norms: str | None  # reset (to 1 and 0), keep


@dataclass(frozen=True)
class Settings:
    """What all trials of a preset have in common."""

    model: Fact | None = None  # one of these hub names
    optimizer: Fact | None = None  # its name and what else is said of it
    lr: Fact | None = None
    batch: Fact | None = None
    schedule: Fact | None = None
    warmup: Fact | None = None
    clip: Fact | None = None
    max_length: Fact | None = None
    head: Fact | None = None  # what the classifier reads after fine-tuning: mean (over tokens), cls
    features: Fact | None = None  # what a probe reads: mean, pooled
    init: Fact | None = None
    report: Fact | None = None  # the epoch whose score counts


@dataclass(frozen=True)
class Part:
    """Trials on the same amount of data: at each of these places, on each of these tasks."""

    tasks: tuple[str, ...]
    size: Fact | None  # a number of rows, a share of the training set, or ALL
    places: Fact
    epochs: Fact | None
    trials: Fact | None  # at every place
    batch: Fact | None = None  # where it is not that of the settings
    early_stopping: bool = False  # within the epochs


@dataclass(frozen=True)
class Facts:
    preset: str
    settings: Settings
    parts: tuple[Part, ...]
    reading: str | None = None
    interval: Fact | None = None  # of the figure: t95, sd2, paper_code
    baseline: Fact | None = None  # the places that the others are compared with
    levels: Fact | None = None  # the places that are drawn as horizontal lines
    dashed: Fact | None = None  # the preset that is drawn over the same x
    metrics: Fact | None = None  # what is measured, by task
    outputs: Fact | None = None  # what is looked at beside the scores: weights, attention
    measure: Fact | None = None  # what of that is drawn
    samples: Fact | None = None  # True: the i-th trial of every place has the i-th sample of the data
    orders: Fact | None = None  # True: the i-th run of every task has the i-th order of layers, no order occurs twice
    unclear: Fact | None = None  # places of which the text does not say whether the figure has them

    @property
    def name(self) -> str:
        return f"{self.preset} ({self.reading})" if self.reading else self.preset


# What is done, in the papers' words.


def layers(numbers: Iterable[int], lr_factor: float = 1.0, norms_preserved: bool = False) -> Place:
    """These layers are reinitialized."""
    redrawn = frozenset(f"layer {number}" for number in numbers)
    return Place(redrawn, lr_factor, norms_preserved) if redrawn else Place()


def all_after(k: int) -> range:
    """All layers after the k-th."""
    return range(k + 1, 13)


def incremental(ks: Iterable[int], lr_factor: float = 1.0, norms_preserved: bool = False) -> Places:
    """For each k all layers after the k-th are reinitialized: k=0 is all of them, k=12 none."""
    return frozenset(layers(all_after(k), lr_factor, norms_preserved) for k in ks)


def blocks() -> Places:
    """Every block of three consecutive layers, once reinitialized, and once preserved, all others being so."""
    found = [{first, first + 1, first + 2} for first in range(1, 11)]
    return frozenset([*(layers(block) for block in found), *(layers(set(LAYERS) - block) for block in found)])


def heads_of(of_layers: Iterable[int]) -> Places:
    """Every single attention head of these layers reinitialized."""
    return frozenset(Place(frozenset({f"layer {layer} head {head}"})) for layer in of_layers for head in HEADS)


def probes_of(of_layers: Iterable[int]) -> Places:
    return frozenset(Place(probed=layer) for layer in of_layers)


FULL = Place()
EMBEDDINGS_ONLY = layers(LAYERS)
SHUFFLED = Place(shuffled=True)
LEVELS = frozenset({FULL, EMBEDDINGS_ONLY})
THREE = ("sst2", "qnli", "cola")
TWO = ("sst2", "qnli")


# tamkin2020

_TAMKIN = Settings(
    model=Fact({UNCASED}, "002 sec. 2 and App. I.3"),
    # Adam's own defaults for the rest.
    optimizer=Fact(
        {"name": "adam", "beta1": 0.9, "beta2": 0.999, "eps": 1e-8, "weight_decay": 0.0}, "002 sec. 2, Adam by default"
    ),
    lr=Fact(2e-5, "002 sec. 2 and App. I.6"),
    batch=Fact(8, "002 sec. 2 and App. I.6"),
    head=Fact("mean", "002 sec. 3: the same as in probing"),
    # BERT was initialized with biases of 0, which this is said to match, though the text has them drawn as well.
    init=Fact(Init("truncated_normal", ((0.02, 2.0),), "zero", "reset"), "002 App. B"),
)
# Only fine-tuning is said to use Adam.
_TAMKIN_PROBING = replace(_TAMKIN, optimizer=None, head=None, init=None, features=Fact("mean", "002 sec. 3"))

_T95 = Fact("t95", "002 App. C: all graphs of the main text")
_SD2 = "sd2"
_ACCURACY_OR_MCC = {"sst2": {"accuracy"}, "qnli": {"accuracy"}, "cola": {"matthews_correlation"}}
_TAMKIN_METRICS = Fact(_ACCURACY_OR_MCC, "002 App. I.5")
_TAMKIN_SAMPLES = Fact(True, "002 App. C: another sample for each trial index")
_FIVE_K = Fact(5000, "002 sec. 2: the default size")
_THREE_EPOCHS = Fact(3, "002 App. E")
_THREE_TRIALS = Fact(3, "002 App. C")
_INCREMENTAL = Fact(incremental(range(13)), "002 sec. 2")
_OF_500 = Part(
    THREE, Fact(500, "002 sec. 2"), _INCREMENTAL, epochs=Fact(5, "002 App. E"), trials=Fact(50, "002 App. C")
)
# How many trials stand behind the two levels is not said.
_LEVELS = Part(THREE, _FIVE_K, Fact(LEVELS, "002 Fig. 3 and Fig. 4"), _THREE_EPOCHS, None)
_PERMUTATIONS = Part(
    THREE, Fact(5000, "002 Fig. 4"), Fact({SHUFFLED}, "002 sec. 5"), _THREE_EPOCHS, Fact(10, "002 Table 1: N=10")
)
_SAME_ORDERS = Fact(True, "002 sec. 5: the n-th run of each task has the same permutation")


def _tamkin(preset: str, *parts: Part, settings: Settings = _TAMKIN, **figure: Fact | None) -> Facts:
    common: dict[str, Any] = {"metrics": _TAMKIN_METRICS, "samples": _TAMKIN_SAMPLES, "reading": "text"}
    return Facts(f"tamkin2020/{preset}", settings, parts, **{**common, **figure})


_TAMKIN_TEXT = (
    _tamkin(
        "fig2",
        _OF_500,
        Part(THREE, Fact(5000, "002 sec. 2"), _INCREMENTAL, _THREE_EPOCHS, _THREE_TRIALS),
        Part(TWO, Fact(50000, "002 sec. 2: not for CoLA"), _INCREMENTAL, _THREE_EPOCHS, _THREE_TRIALS),
        interval=_T95,
        baseline=Fact({FULL}, "002 Fig. 2: k=12"),
        dashed=Fact("tamkin2020/probing", "002 Fig. 2"),
    ),
    _tamkin(
        "fig3",
        # App. I.4 reckons with three trials each.
        Part(THREE, Fact(5000, "002 Fig. 3"), Fact(blocks(), "002 sec. 4"), _THREE_EPOCHS, Fact(10, "002 App. C")),
        _LEVELS,
        interval=_T95,
        baseline=Fact(LEVELS, "002 sec. 4: necessary against the full model, sufficient against random initialization"),
        levels=Fact(LEVELS, "002 Fig. 3"),
    ),
    _tamkin(
        "fig4",
        _PERMUTATIONS,
        _LEVELS,
        interval=_T95,
        baseline=Fact(LEVELS, "002 Fig. 4 and sec. 5: against both"),
        levels=Fact(LEVELS, "002 Fig. 4"),
        orders=_SAME_ORDERS,
    ),
    _tamkin(
        "table1",
        _PERMUTATIONS,
        orders=_SAME_ORDERS,
        unclear=Fact(LEVELS, "002 Table 1: of the runs of Fig. 4"),
    ),
    _tamkin("fig5", _OF_500, baseline=Fact({FULL}, "002 Fig. 5: k=12")),
    _tamkin(
        "fig6",
        Part(
            THREE,
            _FIVE_K,
            Fact({layers([layer]) for layer in LAYERS}, "002 App. D"),
            _THREE_EPOCHS,
            Fact(3, "002 App. D"),
        ),
        interval=Fact(_SD2, "002 Fig. 6"),
        # No layer is seen to matter much, which is said in comparison with all of BERT.
        baseline=Fact({FULL}, "002 App. D"),
        unclear=Fact(LEVELS, "002 Fig. 6: its caption names no levels"),
    ),
    _tamkin(
        "fig7",
        Part(
            THREE,
            _FIVE_K,
            Fact(incremental(range(13)) | incremental(range(13), lr_factor=5), "002 App. F"),
            _THREE_EPOCHS,
            _THREE_TRIALS,
        ),
        interval=Fact(_SD2, "002 Fig. 7"),
        baseline=Fact(incremental(range(13)), "002 App. F: the same at the usual learning rate"),
    ),
    _tamkin(
        "fig8",
        Part(
            THREE,
            Fact(5000, "002 App. G"),
            Fact(incremental(range(13)) | incremental(range(13), norms_preserved=True), "002 App. G"),
            _THREE_EPOCHS,
            _THREE_TRIALS,
        ),
        interval=Fact(_SD2, "002 Fig. 8"),
        baseline=Fact(incremental(range(13)), "002 App. G: the same with LayerNorm reinitialized"),
    ),
    _tamkin(
        "epochs",
        *(
            Part(
                THREE,
                Fact(size, "002 App. E"),
                Fact(incremental([0, 6, 12]), "002 App. E"),
                Fact(10, "002 App. E"),
                trials=None,
            )
            for size in (500, 5000)
        ),
    ),
    _tamkin(
        "probing",
        Part(
            THREE,
            Fact(ALL, "002 App. E"),
            Fact(probes_of(LAYERS), "002 sec. 3: each layer"),
            epochs=Fact(40, "002 App. E: at most, with early stopping"),
            trials=Fact(8, "002 App. E and I.4"),
            early_stopping=True,
        ),
        settings=_TAMKIN_PROBING,
        interval=_T95,
        samples=None,
    ),
)

# What the script does whatever it trains.
_SCRIPT: dict[str, Fact] = {
    "optimizer": Fact({"name": "adam", "weight_decay": 0.0}, f"{CODE}: AdamW that decays nothing"),
    "lr": Fact(2e-5, CODE),
    "batch": Fact(8, CODE),
    "schedule": Fact("linear", CODE),
    "warmup": Fact(0.0, CODE),
    "clip": Fact(1.0, CODE),
    "max_length": Fact(128, CODE),
    "report": Fact("last", f"{CODE}: evaluated once, at the end"),
    # Bounds of 0.04 standard deviations, so nothing beyond 0.0008.
    "init": Fact(Init("truncated_normal", ((0.02, 0.04),), "keep", "reset"), f"{CODE}: weights of linear layers only"),
}


def _tamkin_code(text: Facts) -> Facts:
    """The same as the published code does it."""
    probing = text.preset == "tamkin2020/probing"
    changed: dict[str, Fact] = {
        **_SCRIPT,
        "features" if probing else "head": Fact("pooled" if probing else "cls", CODE),
    }
    if probing:
        (part,) = text.parts
        fixed = replace(part, epochs=Fact(40, f"{CODE}: all of them"), trials=Fact(3, CODE), early_stopping=False)
        text = replace(text, parts=(fixed,))
    interval = None if text.interval is None else Fact("paper_code", f"{CODE}: all error bars")
    return replace(text, reading="code", settings=replace(text.settings, **changed), interval=interval)


# singh2020

_SINGH = Settings(
    model=Fact({UNCASED, CASED}, "001 sec. 4.2: BERT-base, cased or not"),
    lr=Fact(2e-5, "001 sec. 5.3"),
    init=Fact(Init("truncated_normal", ((0.02, 2.0),), "keep", "keep"), "001 sec. 4.3 and Algorithm 1"),
)
_SINGH_METRICS = Fact(_ACCURACY_OR_MCC, "001 sec. 5.2")
_SINGH_EPOCHS = Fact(3, "001 sec. 5.3")
# Twelve runs with 1 to 12 layers reinitialized (sec. 4.3), and BERT as it is (sec. 4.2).
_FROM_THE_TOP = Fact(incremental(range(13)), "001 sec. 4.2 and 4.3")
_WITHOUT = Fact({FULL}, "001 sec. 4.2")


def _singh_part(tasks: tuple[str, ...], size: Fact | None, places: Fact) -> Part:
    return Part(tasks, size, places, _SINGH_EPOCHS, trials=None)


_SHARES = tuple(Fact(share, "001 sec. 4.3.1") for share in (1.0, 0.1, 0.01))
_COLA_SIZE = Fact(ALL, "001 sec. 5.1 and 6.1.4: small, and not made smaller")
_FEW = (
    _singh_part(("sst2",), Fact(0.01, "001 sec. 4.3.1, Fig. 1 (c)"), _FROM_THE_TOP),
    _singh_part(("qnli",), Fact(0.006, "001 sec. 4.3.1, Fig. 1 (c)"), _FROM_THE_TOP),
)
_REMOVED = Fact(probes_of(12 - removed for removed in range(1, 12)), "001 sec. 4.4: 1 to 11 layers removed")
_WHOLE = Fact(probes_of([12]), "001 sec. 6.2: the top two layers hurt, which only the whole model can show")
_SIMILARITY: dict[str, Fact] = {
    "outputs": Fact({"weights"}, "001 sec. 4.5"),
    "measure": Fact(
        {"reference": "pretrained", "module": "feedforward.output.weight", "value": "distance"},
        "001 sec. 4.5 and 5.2: L2 distance of the weight matrices in the output sub-layer",
    ),
}


def _singh(preset: str, *parts: Part, **figure: Fact | None) -> Facts:
    return Facts(f"singh2020/{preset}", _SINGH, parts, reading="text", **figure)


_SINGH_TEXT = (
    _singh(
        "fig1",
        *(_singh_part(TWO, share, _FROM_THE_TOP) for share in _SHARES),  # panel (c) has a preset of its own
        _singh_part(("cola",), _COLA_SIZE, _FROM_THE_TOP),
        baseline=_WITHOUT,
        metrics=_SINGH_METRICS,
    ),
    _singh("fig1c", *_FEW, baseline=_WITHOUT, metrics=_SINGH_METRICS),
    # On how much of the data probes are trained is not said.
    _singh("fig2", _singh_part(TWO, None, _REMOVED), metrics=_SINGH_METRICS, unclear=_WHOLE),
    _singh("fig5a", _singh_part(("cola",), None, _REMOVED), metrics=_SINGH_METRICS, unclear=_WHOLE),
    _singh("fig3", *(_singh_part(TWO, share, Fact({FULL}, "001 sec. 4.5")) for share in _SHARES), **_SIMILARITY),
    _singh("fig5b", _singh_part(("cola",), _COLA_SIZE, Fact({FULL}, "001 App. B")), **_SIMILARITY),
)


def _singh_code(text: Facts) -> Facts:
    """The same as the code published with tamkin2020 does it, which is by two of the same authors. Its batches of 8 are
    not those of this paper, whose 2000 iterations per epoch are about 34 rows each on SST-2 (001 sec. 5.3)."""
    code = {name: fact for name, fact in _SCRIPT.items() if name != "batch"}
    return replace(text, reading="code", settings=replace(text.settings, **code))


# cs224n2020

_CS224N = Settings(
    model=Fact({CASED}, "000 sec. 5.3"),
    lr=Fact(2e-5, "000 sec. 5.3"),
    batch=Fact(32, "000 sec. 5.3: GLUE"),
    init=Fact(
        Init(
            "truncated_normal",
            (
                (0.02, 2.0),  # sec. 4.4, end: BERT's own, cut at 0.04
                (0.2, 0.2),  # sec. 4.4, beginning: sd 0.2, with the same cut
                (0.02, 1.0),  # sec. 5.3.2: cut at 0.02
                (0.02, 0.02),  # sec. 5.3.2: bounds that scipy takes in units of sd, with either sd or its default
                (0.2, 0.02),
                (1.0, 0.02),
            ),
            biases=None,
            norms=None,
        ),
        "000 sec. 4.4 and 5.3.2, which say different things",
    ),
)
_GLUE = ("cola", "mrpc", "rte", "wnli")
_WHOLE = Fact(ALL, "000 sec. 5.1")


def _cs224n(preset: str, *parts: Part, **figure: Fact | None) -> Facts:
    return Facts(f"cs224n2020/{preset}", _CS224N, parts, **figure)


def _pairs(trials: Fact | None) -> tuple[Part, ...]:
    """Every final task: alone, and after each of the others."""
    return tuple(
        Part(
            (final,),
            _WHOLE,
            Fact({FULL, *(Place(after=(task,)) for task in _GLUE if task != final)}, "000 sec. 5.5"),
            Fact(3, "000 sec. 5.3.1: on each of the two tasks"),
            trials,
        )
        for final in _GLUE
    )


_REINITIALIZED = Fact(
    frozenset(layers(range(k, 13)) for k in range(1, 14)), "000 sec. 4.2.1 and 5.6: from layer k on, 13 being none"
)
_LAYER_BY_LAYER = tuple(
    Part(tasks, size, _REINITIALIZED, Fact(3, "000 sec. 5.3.2"), Fact(1, "000 sec. 6.2 and 7.1"), batch)
    for tasks, size, batch in (
        (("rte", "stsb", "cola", "mrpc"), _WHOLE, None),
        (("squad2",), Fact(0.1, "000 Fig. 3"), Fact(1, "000 sec. 5.3")),
    )
)


def _heads(preset: str, task: str) -> Facts:
    """Every head of four layers, and none: the baseline."""
    places = Fact(heads_of([1, 2, 11, 12]) | {FULL}, "000 sec. 4.3.1 and 5.7")
    # For how many epochs is not said of this experiment.
    part = Part((task,), _WHOLE, places, epochs=None, trials=Fact(1, "000 sec. 4.3.1: 96 runs"))
    metrics = Fact({"cola": {"matthews_correlation"}}, "000 sec. 5.7") if task == "cola" else None
    return _cs224n(preset, part, baseline=Fact({FULL}, "000 sec. 5.7"), metrics=metrics)


_CS224N_TEXT = (
    # The text does not say which of two runs the curves are of.
    _cs224n("fig1", *_pairs(None)),
    _cs224n(
        "fig2",
        *_pairs(Fact(2, "000 sec. 7.1: the better of two runs")),
        baseline=Fact({FULL}, "000 Fig. 2: the diagonal"),
        metrics=Fact(
            {"cola": {"matthews_correlation"}, "mrpc": {"accuracy"}, "rte": {"accuracy"}, "wnli": {"accuracy"}},
            "000 Fig. 2, last column",
        ),
    ),
    _cs224n(
        "fig3",
        *_LAYER_BY_LAYER,
        baseline=Fact({FULL}, "000 sec. 5.6: layer 13"),
        metrics=Fact(
            {
                "rte": {"accuracy"},
                "cola": {"matthews_correlation"},
                "mrpc": {"accuracy", "f1", "mean_accuracy_f1"},
            },
            "000 sec. 5.1 and the table in 5.6",
        ),
    ),
    _cs224n("fig4", *_LAYER_BY_LAYER),
    *(_heads(preset, "cola") for preset in ("fig5", "fig7", "fig9")),
    *(_heads(preset, "stsb") for preset in ("fig6", "fig8", "fig10")),
)


# kovaleva2019: the notes state no settings of training.

_KOVALEVA = Settings(
    model=Fact({UNCASED, CASED}, "003 Fig. 5: 12 layers of 12 heads"),
    init=Fact(Init("normal", spreads=None, biases=None, norms=None), "003 sec. 4.3"),
)
_SEVEN = ("mrpc", "stsb", "sst2", "qqp", "rte", "qnli", "mnli")
_SCRATCH = Place(frozenset({"embeddings", "pooler", *(f"layer {layer}" for layer in LAYERS)}))


def _kovaleva(preset: str, places: Fact, **figure: Fact | None) -> Facts:
    part = Part(_SEVEN, Fact(ALL, "003 Table 1"), places, epochs=None, trials=None)
    return Facts(f"kovaleva2019/{preset}", _KOVALEVA, (part,), **figure)


_KOVALEVA_TEXT = (
    _kovaleva(
        "table1",
        Fact({Place(trained=False), _SCRATCH, FULL}, "003 Table 1: the three columns"),
        # The accuracy that it has for STS-B cannot be one.
        metrics=Fact(
            {
                **{task: {"accuracy", "f1"} for task in ("mrpc", "qqp")},
                **{task: {"accuracy"} for task in ("sst2", "rte", "qnli", "mnli")},
            },
            "003 Table 1",
        ),
    ),
    _kovaleva(
        "fig5",
        Fact({FULL}, "003 Fig. 5: the fine-tuned model, compared with the pretrained one"),
        outputs=Fact({"attention"}, "003 sec. 4.3"),
        measure=Fact({"similarity"}, "003 Fig. 5"),
    ),
    _kovaleva(
        "fig6",
        Fact({FULL}, "003 Fig. 6: per task, so of fine-tuned models"),
        outputs=Fact({"attention"}, "003 Fig. 6"),
        measure=Fact({"to_sep", "to_cls"}, "003 Fig. 6"),
    ),
)

FACTS: tuple[Facts, ...] = (
    *_TAMKIN_TEXT,
    *(_tamkin_code(text) for text in _TAMKIN_TEXT),
    *_SINGH_TEXT,
    *(_singh_code(text) for text in _SINGH_TEXT),
    *_CS224N_TEXT,
    *_KOVALEVA_TEXT,
)
