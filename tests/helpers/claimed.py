"""Invented scores of the experiment `mini`, of which it is known what its claims come to."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from bertxfer.report import subject
from bertxfer.store.store import Store
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import sweep_of
from tests.helpers.stored import finish

WORSE = {"incremental k=6": 0.15, "incremental k=0": 0.3, "permutation": 0.08, "scratch": 0.35}


def as_the_papers_say(place: Point) -> float:
    """Each treatment is worse by what is written above, give or take a point that changes with the seed."""
    seed = place.trial.science.seeds["order"]
    noise = ((seed * 7 + len(_treatment(place)) * 3) % 5 - 2) / 200
    return 0.9 - WORSE.get(_treatment(place), 0) + noise


def reversed_permutation(place: Point) -> float:
    return as_the_papers_say(place) + (0.2 if place.axes["scheme"] == "permutation" else 0)


def invented(words: Sequence[str], out: Path, score: Callable[[Point], float] = as_the_papers_say) -> str:
    """A sweep that is launched, as far as its manifest shows, and done; its name."""
    output = f"runtime.output_dir={out}"
    asked = subject.of_words([*words, output])
    for place in asked.points:
        finish(place, Store(out), score(place), n_dev=800)
    return manifest.freeze(sweep_of([*words, output], asked.composer)).name


def numbers(macros: Path) -> dict[str, str]:
    """What a file of macros says, by name."""
    return dict(re.findall(r"^\\bertxfernumber\{(.*)\}\{(.*)\}$", macros.read_text(), re.MULTILINE))


def _treatment(place: Point) -> str:
    k = place.axes.get("k")
    return str(place.axes["scheme"]) + (f" k={k}" if k is not None else "")
