r"""Numbers for LaTeX, in a file that says which trials each follows from, and whether they still do.

    \input{results}
    ... lowers the score by \bertxfer{mini/claims/permutation/mini_sst2/effect} points ...

A name that is not in the file stops LaTeX, so that a misspelt one leaves no gap in a sentence.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bertxfer.errors import BertxferError
from bertxfer.report.quotes import Quote, quotes_of
from bertxfer.report.subject import Subject
from bertxfer.store.store import Store
from bertxfer.system.files import write_text
from bertxfer.system.formats import FORMAT, refuse_newer

_DIGITS = 12  # of the digest of what a trial measured
# The command can be expanded, so it may stand in \num{...} and in \typeout.
_HEAD = r"""% Numbers from stored trials, not to be edited: `python -m bertxfer check FILE` says if they still follow.
%! {made_from}
\providecommand{\bertxfernumber}[2]{\expandafter\gdef\csname bertxfer@#1\endcsname{#2}}
\providecommand{\bertxfer}[1]{\ifcsname bertxfer@#1\endcsname\csname bertxfer@#1\endcsname\else\thereisnosuchnumber\fi}
"""
_NUMBER = re.compile(r"\\bertxfernumber\{([^{}]+)\}\{([^{}]*)\}")


@dataclass(frozen=True)
class Written:
    """What a file of macros says."""

    made_from: list[dict[str, Any]]  # of each experiment: how its names begin, its sweep, its overrides
    quotes: list[Quote]
    measured: dict[str, str]  # by trial, a digest of what it measured


def write(subjects: Sequence[Subject], path: Path) -> int:
    """Writes all that can be quoted of these; returns how many numbers that is."""
    beginnings = _beginnings(subjects)
    quotes = [quote for subject, name in zip(subjects, beginnings, strict=True) for quote in quotes_of(subject, name)]
    if not quotes:
        raise BertxferError(
            f"nothing is stored yet of {', '.join(beginnings) or 'any sweep'}, so nothing can be quoted"
        )
    made_from = [
        {"name": name, "sweep": subject.name, "words": subject.words}
        for subject, name in zip(subjects, beginnings, strict=True)
    ]
    lines = [_HEAD.replace("{made_from}", json.dumps({"format": FORMAT, "from": made_from}))]
    behind: tuple[str, ...] | None = None
    for quote in quotes:
        if quote.trials != behind:
            lines.append(f"%< {' '.join(quote.trials)}")
            behind = quote.trials
        lines.append(rf"\bertxfernumber{{{quote.name}}}{{{quote.text}}}")
    stores = {trial: subject.store for subject in subjects for trial in (point.trial.id for point in subject.points)}
    trials = dict.fromkeys(trial for quote in quotes for trial in quote.trials)
    lines += [f"%= {trial} {_measured(trial, stores[trial])}" for trial in trials]
    write_text(path, "\n".join(lines) + "\n")
    return len(quotes)


def check(path: Path, find: Callable[[Mapping[str, Any]], Subject]) -> tuple[list[str], int]:
    """What no longer follows from the store, a sentence each, and how many numbers were looked at."""
    written = read(path)
    wrong, now, stores = [], dict[str, Quote](), dict[str, Store]()
    for one in written.made_from:
        subject = find(one)
        stores |= {point.trial.id: subject.store for point in subject.points}
        now |= {quote.name: quote for quote in quotes_of(subject, one["name"])}
    for trial, digest in written.measured.items():
        if trial not in stores or (is_now := _measured(trial, stores[trial])) is None:
            wrong.append(f"trial {trial}: there is no result of it")
        elif is_now != digest:
            wrong.append(f"trial {trial}: its result is another one than that which was quoted")
    for quote in written.quotes:
        other = now.get(quote.name)
        if other is None:
            wrong.append(f"{quote.name}: says {quote.text}, and no stored trial says anything")
        elif other.text != quote.text:
            wrong.append(f"{quote.name}: says {quote.text}, and the trials say {other.text}")
        elif other.trials != quote.trials:
            wrong.append(
                f"{quote.name}: follows from {len(other.trials)} trials that are not the {len(quote.trials)} named"
            )
        elif not set(quote.trials) <= written.measured.keys():
            wrong.append(f"{quote.name}: a trial that it names has no line of its own in the file")
    return wrong, len(written.quotes)


def read(path: Path) -> Written:
    """What a file says; an error where a line is not one that was written."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()  # some editors add a mark at the beginning
    except (OSError, UnicodeDecodeError) as error:
        raise BertxferError(f"{path} cannot be read: {error}") from error
    head = _HEAD.splitlines()
    made_from: Any = None
    quotes, measured, behind = list[Quote](), dict[str, str](), tuple[str, ...]()
    for number, line in enumerate(lines, start=1):
        if line.startswith("%! ") and made_from is None:
            made_from = _made_from(path, line[3:])
        elif line.startswith("%< "):
            behind = tuple(line[3:].split())
        elif line.startswith("%= ") and len(line.split()) == 3:
            measured[line.split()[1]] = line.split()[2]
        elif found := _NUMBER.fullmatch(line):
            quotes.append(Quote(found[1], found[2], behind))
        elif line and line not in head:
            raise BertxferError(
                f"{path}, line {number}: {line[:60]!r} was not written by `macros`; write the file again"
            )
    if made_from is None or not quotes:
        raise BertxferError(f"{path} is not a file that `macros` wrote")
    return Written(made_from, quotes, measured)


def _made_from(path: Path, text: str) -> list[dict[str, Any]] | None:
    try:
        content = json.loads(text)
        refuse_newer(path, content)
        found = [
            {"name": str(one["name"]), "sweep": Path(one["sweep"]).name, "words": [str(word) for word in one["words"]]}
            for one in content["from"]
        ]
    except (ValueError, KeyError, TypeError):
        return None
    return found


def _beginnings(subjects: Sequence[Subject]) -> list[str]:
    """An experiment's name, or a sweep's where there is none, or where several are of one experiment."""
    names = [subject.experiment or subject.name for subject in subjects]
    return [subject.name if names.count(name) > 1 else name for subject, name in zip(subjects, names, strict=True)]


def _measured(trial: str, store: Store) -> str | None:
    """A digest of a trial's metrics; None without a result."""
    try:
        result = store.result_alone(trial)
    except BertxferError:
        return None
    if result is None:
        return None
    return hashlib.sha256(json.dumps(result["metrics"], sort_keys=True).encode()).hexdigest()[:_DIGITS]
