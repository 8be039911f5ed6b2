"""What `report` is asked for: which page, how wide its figures, opened or renewed while trials are running."""

import argparse
import re
import sys
import time
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bertxfer.config.overrides import is_drawing
from bertxfer.errors import BertxferError
from bertxfer.report import index, page, side_by_side, subject
from bertxfer.report.subject import Subject

_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4}
_LEAST, _MOST = 1.5, 20.0  # inches


@dataclass(frozen=True)
class Asked:
    words: Sequence[str]
    output_dir: Path | None
    default: Path
    config_dirs: Sequence[str]
    everything: bool
    watch: int | None
    width: float | None

    @property
    def root(self) -> Path:
        return (self.output_dir or self.default).absolute()

    @property
    def names(self) -> list[str]:
        return [word for word in self.words if "=" not in word]

    @property
    def drawn(self) -> list[str]:
        """Overrides that say how figures are drawn."""
        return [word for word in self.words if "=" in word and is_drawing(word.split("=", 1)[0].lstrip("+"))]


def inches(text: str) -> float:
    """The width of a column: 3.3in, 84mm, 8.4cm."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(in|cm|mm)", text)
    wide = float(found[1]) * _INCHES[found[2]] if found else 0.0
    if not _LEAST <= wide <= _MOST:
        raise argparse.ArgumentTypeError(f"{text!r} is no width between {_LEAST}in and {_MOST:g}in, as 3.3in or 84mm")
    return wide


def seconds(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of seconds from 1 on")
    return int(text)


def run(asked: Asked, opened: bool) -> int:
    """Writes the page, says where it is, and renews it as long as that is asked for and trials are missing."""
    path, about = _write(asked, asked.watch)
    print(f"report in {path}", flush=True)
    if opened and not webbrowser.open(path.as_uri()):
        print(f"no browser could be opened here; open {path}", file=sys.stderr)
    while asked.watch is not None and about is not None:
        missing = _missing(about)
        if not missing:
            page.write(about, None, asked.width)  # the last one looks no more
            break
        time.sleep(asked.watch)
        path, about = _write(asked, asked.watch)
        print(f"{time.strftime('%H:%M:%S')}  renewed, {_missing(about) if about else 0} trials missing", flush=True)
    return 0


def _write(asked: Asked, renewed: int | None) -> tuple[Path, Subject | None]:
    """The page that is asked for, and the one sweep that it is about."""
    if asked.everything:
        if asked.words or renewed:
            raise BertxferError("--all is of every sweep, so it takes neither the name of one nor --watch")
        return index.write_all(subject.stored(asked.root, (), asked.config_dirs), asked.root), None
    if len(asked.names) == len(asked.words) - len(asked.drawn) and len(asked.names) < 3:
        return _of_names(asked, renewed)
    about = subject.of_words(asked.words, asked.output_dir, asked.config_dirs)
    return page.write(about, renewed, asked.width), about


def _of_names(asked: Asked, renewed: int | None) -> tuple[Path, Subject | None]:
    sweeps, several = asked.names, len(asked.names) == 2
    paper = sweeps[0] if len(sweeps) == 1 and subject.is_paper(sweeps[0]) else None
    if renewed and (several or paper):
        raise BertxferError("--watch is of one sweep, not of a paper or of two")
    if paper:
        return index.write_paper(paper, *subject.of_paper(asked.root, paper, asked.config_dirs), asked.root), None
    if several:
        first, second = (subject.of_sweep(asked.root, name, asked.config_dirs, asked.drawn) for name in sweeps)
        return side_by_side.write(first, second, asked.width), None
    about = subject.of_sweep(asked.root, sweeps[0] if sweeps else None, asked.config_dirs, asked.drawn)
    return page.write(about, renewed, asked.width), about


def _missing(about: Subject) -> int:
    """Trials that are still to come: neither done, nor failed, nor not needed."""
    trials = {point.trial.id: point.trial for point in about.points}
    ended = [one for one in trials.values() if about.store.complete(one.id)]
    failed = [one for one in trials if (about.store.folder(one) / "failure.json").is_file()]
    return len(trials) - len({one.id for one in ended} | set(failed) | about.unneeded)
