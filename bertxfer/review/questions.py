"""What a run sets out to decide: the claims of its experiment, each with what is decided by now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bertxfer.claims import words
from bertxfer.claims.claim import Claim
from bertxfer.claims.progress import Decision
from bertxfer.claims.verdict import FEWEST
from bertxfer.config.composer import Composer
from bertxfer.config.overrides import axes_of, of_trials
from bertxfer.store.store import Store
from bertxfer.sweeps.claiming import decisions
from bertxfer.sweeps.deciding import Deciding
from bertxfer.sweeps.readings import values_in
from bertxfer.sweeps.sweep import Point
from bertxfer.sweeps.wanted import stated_claims, to_decide


@dataclass(frozen=True)
class Questions:
    """The claims of an experiment; `decisions` has one for each place that a claim is asked for."""

    claims: Sequence[Claim]
    decisions: Sequence[Decision]
    deciding: Deciding | None  # where rounds are only run while a claim needs them

    def sentences(self) -> list[str]:
        """A line for each claim, and one that counts the verdicts."""
        told = []
        for claim in self.claims:
            here = [one for one in self.decisions if one.case.claim == claim.name]
            points = f" point{'' if claim.margin == 1 else 's'}" if claim.is_in_points else ""
            margin = f", margin of {claim.margin:g}{points}" if claim.margin else ""
            where = "not about any trial here" if not here else words.counted(len(here), "question") + margin
            told.append(f"claim {claim.name}: {claim.says} ({where})")
        if self.decisions:
            told.append(words.summary(self.decisions))
        if self.deciding is not None and all(len(one.case.rounds) < FEWEST for one in self.decisions):
            told.append(f"nothing is decided before {FEWEST} rounds, and here are fewer, so all are run")
        return told

    def as_list(self) -> list[dict[str, Any]]:
        """For programs."""
        by_name = {claim.name: claim for claim in self.claims}
        stated = ((one, by_name[one.case.claim]) for one in self.decisions)
        return [words.as_dict(one, claim.says, claim.published) for one, claim in stated]


def of(overrides: Sequence[str], points: Sequence[Point], composer: Composer, store: Store) -> Questions | None:
    """The claims about these places; None where the experiment states none."""
    axes = of_trials(axes_of(overrides, composer.loader))
    cases, until = to_decide(axes, points, composer)
    claims = stated_claims(axes, composer)
    if not claims:
        return None
    trials = list({point.trial.id: point.trial for point in points}.values())
    deciding = Deciding(cases, trials, store) if until else None
    return Questions(claims, decisions(cases, values_in(store, trials)), deciding)
