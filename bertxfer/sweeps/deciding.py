"""Which trials of a sweep are still needed, where it runs until its claims are decided.

A trial is needed while a claim that it belongs to is undecided by the rounds before its own. That follows from the
stored results of whole rounds alone, so every worker and every later launch comes to the same answer, whenever it asks;
and since a verdict stays, no trial that ends late changes it.
"""

from collections.abc import Iterable, Mapping, Sequence

from bertxfer.claims.case import Case, Reading
from bertxfer.claims.progress import Decision, Progress
from bertxfer.claims.verdict import share
from bertxfer.store.store import Store
from bertxfer.sweeps.readings import values_in
from bertxfer.trials.rounds import round_of
from bertxfer.trials.trial import Trial

# States beside those of the queue.
LATER = "later"  # the rounds before are not whole, so it is not known
NOT_NEEDED = "not needed"
HELD_BACK = "held back"  # the rounds before will not become whole: a trial of them failed


class Deciding:
    """What the claims of a sweep still need."""

    def __init__(self, cases: Sequence[Case], trials: Sequence[Trial], store: Store) -> None:
        self._value_of = values_in(store, trials)
        self._round = {trial.id: round_of(trial.science) for trial in trials}
        self._cases = [Progress(case, share(len(cases))) for case in cases]
        self._of_trial: dict[str, list[int]] = {trial.id: [] for trial in trials}
        for i, case in enumerate(cases):
            for trial_id in case.trials:
                self._of_trial[trial_id].append(i)

    def needs(self, trial_id: str) -> bool | None:
        """Whether the trial is to be run; None: not known before others have ended."""
        answers = []
        for i in self._concerned(trial_id):
            self._cases[i].advance(self._value_of)
            answers.append(self._cases[i].needs(self._round[trial_id]))
        return True if any(answers) else None if None in answers else False

    def foreseen(self) -> set[str]:
        """The trials that it takes if rounds go on as they are (claims/progress.py)."""
        for case in self._cases:
            case.advance(self._value_of)
        return {
            trial_id
            for trial_id, number in self._round.items()
            if any(self._cases[i].is_foreseen(number) for i in self._concerned(trial_id))
        }

    def states(self, states: Mapping[str, str]) -> dict[str, str]:
        """The states of all trials, where those that wait may be needed later or not at all."""
        known: dict[str, str] = {}
        for trial_id in sorted(states, key=lambda one: self._round[one]):
            known[trial_id] = states[trial_id]
            if states[trial_id] == "waiting":
                needed = self.needs(trial_id)
                known[trial_id] = (
                    "waiting" if needed else NOT_NEEDED if needed is False else self._later(trial_id, known)
                )
        return known

    def _later(self, trial_id: str, states: Mapping[str, str]) -> str:
        number = self._round[trial_id]
        unknown = [case for i in self._concerned(trial_id) if (case := self._cases[i]).needs(number) is None]
        return HELD_BACK if all(self._is_stuck(case.next_readings(number), states) for case in unknown) else LATER

    def _is_stuck(self, readings: Iterable[Reading], states: Mapping[str, str]) -> bool:
        """Whether a round will not become whole: one of its trials failed, or is done and cannot be read."""
        return any(
            states.get(reading.trial) in ("failed", HELD_BACK)
            or (states.get(reading.trial) == "done" and self._value_of(reading) is None)
            for reading in readings
        )

    def decisions(self) -> list[Decision]:
        """What is decided by now."""
        for case in self._cases:
            case.advance(self._value_of)
        return [case.decision() for case in self._cases]

    def _concerned(self, trial_id: str) -> Iterable[int]:
        """The cases that a trial belongs to; one of no claim is needed as long as any claim is undecided."""
        return self._of_trial[trial_id] or range(len(self._cases))
