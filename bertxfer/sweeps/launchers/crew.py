"""Whether lost workers are replaced: a decision about numbers alone."""

from dataclasses import dataclass

from bertxfer.errors import TrialError

FRUITLESS = 3  # times that workers are started without a trial more being done


@dataclass
class Crew:
    """What became of the workers of one launch, as the command that waits for them has seen it."""

    size: int  # how many it began with
    done_before: int  # how many trials were done then
    replaced: int = 0
    fruitless: int = 0
    done_then: int = -1  # how many trials were done when workers were last started
    short: bool = False  # some were missing at the last look

    def to_start(self, missing: int, living: int, done: int) -> int:
        """How many workers to start. An error if all are gone, again and again, without a trial more being done."""
        was_short, self.short = self.short, missing > 0
        if missing <= 0:
            return 0
        if living and not was_short:  # one that is just ending, or just beginning: wait for the next look
            return 0
        in_vain = self.fruitless >= FRUITLESS - 1 and done == self.done_then
        if living and (in_vain or self.replaced >= FRUITLESS * self.size):
            return 0  # whatever ends them ends their successors too; the living go on
        self.fruitless = self.fruitless + 1 if done == self.done_then else 0
        self.done_then = done
        if self.fruitless == FRUITLESS:
            raise TrialError("all workers ended before their trials")
        self.replaced += missing
        return missing
