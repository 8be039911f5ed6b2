"""What a shell offers when a command is completed, as far as Hydra does not know it: verbs, and experiments of papers.

`eval "$(bertxfer -sc install=bash)"` turns completion on; the shell then asks `bertxfer -sc query=bash`, with the line
so far in COMP_LINE.
"""

from collections.abc import Sequence

from bertxfer.config import experiments
from bertxfer.config.schema import conf_dir


def is_query(words: Sequence[str]) -> bool:
    return any(word.startswith("query=") for word in words) and bool({"-sc", "--shell-completion"} & set(words))


def offers(line: str, verbs: Sequence[str]) -> list[str] | None:
    """What can come last on the line; None where Hydra knows better."""
    words = line.split(" ")[1:]
    last = words[-1] if words else ""
    if last.startswith("experiment="):
        return [f"experiment={name}" for name in experiments.names(conf_dir()) if name.startswith(last[11:])]
    if len(words) <= 1 and "=" not in last and "/" not in last:
        return [verb for verb in verbs if verb.startswith(last)] or None
    return None


def without_verb(line: str, verbs: Sequence[str]) -> str:
    """The line as Hydra can read it: a run with the same words."""
    command, _, rest = line.partition(" ")
    verb, _, words = rest.partition(" ")
    return f"{command} {words}" if verb in verbs else line
