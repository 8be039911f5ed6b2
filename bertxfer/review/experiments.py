"""The experiments of conf/experiment/: what each asks for, how much of it is in the store, and what the rest costs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bertxfer.config import experiments
from bertxfer.config.composer import Composer
from bertxfer.errors import BertxferError
from bertxfer.review import costs
from bertxfer.review.costs import Bill
from bertxfer.review.plan import plan
from bertxfer.trials.inputs import Inputs


@dataclass(frozen=True)
class Preset:
    """`problem` says why its trials cannot be listed here, for example because a data set is absent."""

    name: str
    description: str
    trials: int = 0
    done: int = 0
    cost: str = ""  # of what is not done, with one worker
    problem: str | None = None


def presets(words: Sequence[str], composer: Composer, output_dir: Path | None) -> Iterator[Preset]:
    """Each experiment with these overrides added (model=mini), in the order of their names."""
    for name in experiments.names(composer.conf):
        composed = composer.compose([f"experiment={name}"])
        if any(word.startswith("reading=") and word[len("reading=") :] not in composed.readings for word in words):
            continue  # it has no such reading
        description = str(composed.description or "")
        try:
            planned = plan([f"experiment={name}", *words], True, composer, Inputs(), output_dir)
        except BertxferError as error:
            yield Preset(name, description, problem=str(error))
            continue
        yield Preset(name, description, len(planned.trials), planned.counts["done"], _cost(planned.cost))


def _cost(left: Bill) -> str:
    if not left.trials:
        return ""
    known = (
        f"{costs.duration(left.seconds)}{' (partly guessed)' if left.guessed_trials else ''}" if left.seconds else ""
    )
    unknown = f"not known for {left.unknown_trials}" if left.unknown_trials else ""
    return ", ".join(filter(None, [known, unknown]))
