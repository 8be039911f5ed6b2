"""A claim as an experiment's file states it, with every key checked.

claims:
  permuted:
    says: another order of the layers lowers the score
    less: {scheme: permutation}
    than: {treatment_text: as pretrained}
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bertxfer.claims.verdict import LESS, MORE, NOT_MORE, SAME
from bertxfer.errors import ConfigError

DIFFERENCE, RANK, EXTREME, ALIKE, CONCORDANT = "difference", "rank", "extreme", "alike", "concordant"
# What matters, where a claim does not say: points of a score, and a rank correlation.
POINTS, CORRELATION = 1.0, 0.1
# A metric may be `weights.distance`: of what an analysis (learning/analysis/) left beside a trial.
ANALYSES = {
    "attention": ("similarity", "to_sep", "to_cls"),
    "weights": ("distance", "norm", "relative"),
    "course": ("score", "dev_loss"),
    "surgery": ("score", "change", "dev_loss"),
    "similarity": ("cka",),
    "path": ("score", "dev_loss", "barrier"),
}
# Those that have every metric of the task, each by its name; `score` is the task's own.
SCORED = ("course", "surgery", "path")
_IN_POINTS = ("score", "change")

_WANTS = {
    "more": (DIFFERENCE, MORE),
    "less": (DIFFERENCE, LESS),
    "same": (DIFFERENCE, SAME),
    "not_more": (DIFFERENCE, NOT_MORE),
    "rises": (RANK, MORE),
    "falls": (RANK, LESS),
    "largest": (EXTREME, MORE),
    "smallest": (EXTREME, LESS),
    "correlated": (CONCORDANT, MORE),
}
_OTHER_SIDE = {"more": "than", "less": "than", "same": "as", "not_more": "than"}
_ALONG = "along"  # of `correlated`: the axis along which two profiles are compared, instead of the rounds
_KEYS = ("says", "where", "over", "metric", "margin", "published", *_WANTS, "than", "as", _ALONG)


@dataclass(frozen=True)
class Side:
    """One side of a comparison: the places with these values, or how far they are from others, if `minus` says."""

    where: Mapping[str, Any]
    minus: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Claim:
    """What is claimed. Columns are axes as typed, keys of the scientific config, or `treatment_text`."""

    name: str
    says: str  # the sentence
    kind: str
    wants: str  # of its numbers: more than 0, less, the same within the margin, or not more than that
    where: Mapping[str, Any]  # true of all places that it is about
    sides: tuple[Side, ...] = ()  # one, where it is compared with a number
    level: float = 0.0  # that number, in the unit of its effect
    axis: str | None = None
    values: tuple[Any, ...] = ()  # of the axis: where the extreme is, or the two that are correlated
    along: str | None = None
    over: tuple[str, ...] = ()  # columns that are averaged over; it is asked for each value of the others
    metric: str = "score"
    margin: float = POINTS
    published: str | None = None  # what the paper prints

    @property
    def named(self) -> set[str]:
        """The columns that it speaks of itself; it is asked for each value of the others."""
        chosen = [side.where for side in self.sides] + [side.minus for side in self.sides if side.minus is not None]
        return {*(column for where in chosen for column in where), *self.over, *filter(None, (self.axis, self.along))}

    @property
    def analysis(self) -> str | None:
        """What it reads, if not a score."""
        stem = self.metric.split(".")[0]
        return stem if stem in ANALYSES else None

    @property
    def of_result(self) -> str | None:
        """The metric that it reads of a result, if that is not the task's own score, nor an analysis."""
        return None if self.metric == "score" or self.analysis else self.metric.removeprefix("metrics.")

    @property
    def is_in_points(self) -> bool:
        return self.kind in (DIFFERENCE, EXTREME) and self._is_score

    @property
    def _is_score(self) -> bool:
        return self.analysis is None or (self.analysis in SCORED and self.metric.split(".", 1)[-1] in _IN_POINTS)


def claims_of(block: Any) -> list[Claim]:
    """The claims of a `claims:` block; none where it is null, and without those that are, which takes one away that an
    experiment would have from another."""
    if block is None:
        return []
    if not isinstance(block, Mapping):
        raise ConfigError("claims", "is a mapping of names to claims")
    return [_claim(str(name), plain) for name, plain in block.items() if plain is not None]


def _claim(name: str, plain: Any) -> Claim:
    key = f"claims.{name}"
    if not isinstance(plain, Mapping):
        raise ConfigError(key, "is a mapping; it has at least `says` and what is claimed")
    for known in plain:
        if known not in _KEYS:
            raise ConfigError(f"{key}.{known}", f"there is no such key; a claim has {', '.join(_KEYS)}")
    if not isinstance(plain.get("says"), str):
        raise ConfigError(f"{key}.says", "is the sentence that is claimed")
    kinds = [word for word in _WANTS if word in plain]
    if len(kinds) != 1:
        raise ConfigError(key, f"states one of {', '.join(_WANTS)}; here it states {' and '.join(kinds) or 'none'}")
    word = kinds[0]
    kind, wants = _WANTS[word]
    shape = _comparison(key, word, plain) if kind == DIFFERENCE else _of_axis(key, word, plain)
    settings = {
        "name": name,
        "says": plain["says"],
        "kind": kind,
        "wants": wants,
        "where": _where(f"{key}.where", plain.get("where") or {}),
        "over": _names(f"{key}.over", plain.get("over")),
        "metric": _text(f"{key}.metric", plain.get("metric", "score")),
        "published": None if plain.get("published") is None else _text(f"{key}.published", plain["published"]),
        **shape,
    }
    claim = Claim(**settings)
    return Claim(**{**settings, "margin": _margin(f"{key}.margin", plain.get("margin"), claim)})


def _comparison(key: str, word: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    other = _OTHER_SIDE[word]
    if other not in plain:
        raise ConfigError(f"{key}.{other}", f"is missing: `{word}` needs the places that it is compared with")
    _refuse(key, plain, {"than", "as", _ALONG} - {other}, word)
    level = plain[other]
    if isinstance(level, (int, float)) and not isinstance(level, bool):
        if not math.isfinite(level):
            raise ConfigError(f"{key}.{other}", f"{level!r} is not a number")
        return {"sides": (_side(f"{key}.{word}", plain[word]),), "level": float(level)}
    return {"sides": tuple(_side(f"{key}.{name}", plain[name]) for name in (word, other))}


def _side(key: str, plain: Any) -> Side:
    where = dict(_where(key, plain))
    minus = {**where, **_where(f"{key}.minus", where["minus"])} if "minus" in where else None
    for chosen in (where, minus):
        if chosen is not None:
            chosen.pop("minus", None)
    if not where:
        raise ConfigError(key, "names no place")
    return Side(where, minus)


def _of_axis(key: str, word: str, plain: Mapping[str, Any]) -> dict[str, Any]:
    if word in ("rises", "falls"):
        _refuse(key, plain, {"than", "as", _ALONG}, word)
        if not isinstance(plain[word], str):
            raise ConfigError(f"{key}.{word}", "is the name of an axis")
        return {"axis": plain[word]}
    _refuse(key, plain, {"than", "as", *([_ALONG] if word != "correlated" else [])}, word)
    chosen = _where(f"{key}.{word}", plain[word])
    if len(chosen) != 1:
        raise ConfigError(f"{key}.{word}", "is one axis with its values, as {layer: [11, 12]}")
    axis, values = next(iter(chosen.items()))
    values = tuple(values) if isinstance(values, (list, tuple)) else (values,)
    if word == "correlated" and len(values) != 2:
        raise ConfigError(f"{key}.{word}.{axis}", "has two values, which are correlated with each other")
    if word == "correlated" and values[0] == values[1]:
        raise ConfigError(f"{key}.{word}.{axis}", f"{values[0]!r} would be correlated with itself")
    along = plain.get(_ALONG)
    if along is not None and not isinstance(along, str):
        raise ConfigError(f"{key}.{_ALONG}", "is the name of an axis")
    return {"axis": axis, "values": values, "along": along, **({"kind": ALIKE} if along else {})}


def _refuse(key: str, plain: Mapping[str, Any], names: set[str], word: str) -> None:
    for name in sorted(names & set(plain)):
        raise ConfigError(f"{key}.{name}", f"does not go with `{word}`")


def _where(key: str, plain: Any) -> Mapping[str, Any]:
    if not isinstance(plain, Mapping) or not all(isinstance(name, str) for name in plain):
        raise ConfigError(key, f"{plain!r} is not a mapping of columns to values, as {{scheme: permutation}}")
    return plain


def _text(key: str, plain: Any) -> str:
    if isinstance(plain, bool) or not isinstance(plain, (str, int, float)):
        raise ConfigError(key, f"{plain!r} is not a text")
    return str(plain)


def _names(key: str, plain: Any) -> tuple[str, ...]:
    names = plain if isinstance(plain, (list, tuple)) else [] if plain is None else [plain]
    if not all(isinstance(name, str) for name in names):
        raise ConfigError(key, "is the name of an axis, or a list of them")
    return tuple(names)


def _margin(key: str, given: Any, claim: Claim) -> float:
    if given is None:
        of_analysis = claim.kind in (DIFFERENCE, EXTREME) and not claim.is_in_points
        if of_analysis and claim.wants in (SAME, NOT_MORE):
            raise ConfigError(key, "is needed: what difference of an analysis matters is not known here")
        return 0.0 if of_analysis else POINTS if claim.is_in_points else CORRELATION
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0 <= given < 1e9:
        raise ConfigError(key, f"{given!r} is not a number from 0")
    if claim.wants == SAME and given == 0:
        raise ConfigError(key, "is 0, and no two scores are the same to the last digit; give what matters")
    return float(given)
