"""Verdicts in words: what a case's rounds show, how sure that is, and what it would take."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from bertxfer.claims.case import Case
from bertxfer.claims.claim import DIFFERENCE, EXTREME
from bertxfer.claims.progress import Decision
from bertxfer.claims.verdict import FEWEST, HOLDS, NO_DIFFERENCE, OPPOSITE, UNDECIDED

ORDER = (HOLDS, OPPOSITE, NO_DIFFERENCE, UNDECIDED)
_FORESEEN = 50  # rounds; what is said of more would be noise
_VERBS = {  # of one, and of several
    HOLDS: ("holds", "hold"),
    OPPOSITE: ("is the other way round", "are the other way round"),
    NO_DIFFERENCE: ("shows no difference that matters", "show no difference that matters"),
    UNDECIDED: ("is undecided", "are undecided"),
}


def place(values: Mapping[str, Any]) -> str:
    """What a case is asked for, as it is typed: "sst2, n=500"."""
    told = [str(v) if name in ("task", "model") else f"{name.rsplit('.', 1)[-1]}={v}" for name, v in values.items()]
    return ", ".join(told)


def effect(decision: Decision) -> str:
    """The mean of the rounds, in its unit."""
    mean = decision.verdict.effect
    return "-" if math.isnan(mean) else f"{number(decision.case, mean, signed=True)}{_unit(decision.case)}"


def interval(decision: Decision) -> str:
    """Where the mean lies, however often one has looked; "-" while that is not bounded."""
    low, high = decision.verdict.low, decision.verdict.high
    if not decision.numbers or math.isinf(low) or math.isinf(high):
        return "-"
    return f"{number(decision.case, low)} to {number(decision.case, high)}"


def number(case: Case, value: float, signed: bool = False) -> str:
    if case.in_points:
        text = f"{value:+.1f}" if signed else f"{value:.1f}"
    elif not _is_correlation(case):  # of an analysis, whose numbers may be of any size
        text = f"{value:+.3g}" if signed else f"{value:.3g}"
    else:
        text = f"{value:+.2f}" if signed else f"{value:.2f}"
    return text.removeprefix("-") if text.lstrip("+-").strip("0.") == "" else text


def _unit(case: Case) -> str:
    return " points" if case.in_points else " rank correlation" if _is_correlation(case) else ""


def _is_correlation(case: Case) -> bool:
    return case.kind not in (DIFFERENCE, EXTREME)


def verdict(decision: Decision) -> str:
    """The verdict, after how many rounds, or what is missing for one."""
    said, rounds = decision.verdict.verdict, len(decision.rounds)
    if decision.decided_after is not None:
        return f"{said} (after {counted(decision.decided_after, 'round')} of {rounds})"
    return f"{said}: {missing(decision)}"


def missing(decision: Decision) -> str:
    """What an undecided case would take."""
    rounds, needed = len(decision.rounds), decision.verdict.needed
    has = f"{counted(rounds, 'round')} so far" if rounds else "no round is whole"
    if decision.undefined > 0:
        has += f", {decision.undefined} of them without a number"
    if needed is not None:
        more = f"about {needed}" if needed <= _FORESEEN else f"more than {_FORESEEN}"
        return f"{has}, {more} more if they are like these"
    if len(decision.numbers) < 2:
        return f"{has}, and at least {FEWEST + decision.case.is_concordance} are needed"
    return f"{has}, and no number of rounds like these is foreseen to decide it"


def summary(decisions: Sequence[Decision]) -> str:
    """How many questions have which verdict; a claim that is asked for several tasks counts once for each."""
    counts = Counter(decision.verdict.verdict for decision in decisions)
    if not counts:
        return "no claims"
    asked = f"{counted(len(decisions), 'question')} of the claims"
    if len(counts) == 1 and len(decisions) > 1:
        return f"{asked}: all {_VERBS[next(iter(counts))][1]}"
    return (
        f"{asked}: {', '.join(f'{counts[said]} {_VERBS[said][counts[said] != 1]}' for said in ORDER if counts[said])}"
    )


def counted(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"


def as_dict(decision: Decision, says: str, published: str | None) -> dict[str, Any]:
    """For programs: nothing is rounded, and what is not bounded is null."""
    seen, case = decision.verdict, decision.case
    bounded = {name: value if math.isfinite(value) else None for name, value in _numbers(decision).items()}
    return {
        "claim": case.claim,
        "says": says,
        "published": published,
        "place": dict(case.place),
        "kind": case.kind,
        "unit": "points" if case.in_points else _unit(case).strip() or None,
        "margin": case.margin,
        "verdict": seen.verdict,
        **bounded,
        "rounds": len(decision.rounds),
        "rounds_at_most": len(case.rounds),
        "decided_after": decision.decided_after,
        "needed": seen.needed,
        "undefined": decision.undefined,
        "trials": sorted(case.trials),
    }


def _numbers(decision: Decision) -> dict[str, float]:
    return {"effect": decision.verdict.effect, "low": decision.verdict.low, "high": decision.verdict.high}
