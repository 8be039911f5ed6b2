"""Stars: a trial, and for each stream of randomness one that differs from it in the seed of that stream alone."""

from dataclasses import dataclass, field

import pandas as pd

from bertxfer.report.frame import is_gap

STREAMS = ("subsample", "redraw", "head", "order", "dropout")


@dataclass
class Star:
    """The rows of one round, by their place in a table."""

    base: int
    changed: dict[str, int] = field(default_factory=dict)  # by stream
    other: int | None = None  # differs in all of these streams, and has each one's new seed


def drawn_from(replicates: pd.DataFrame) -> list[str]:
    """The streams that these trials draw from."""
    return [one for one in STREAMS if f"seeds.{one}" in replicates and replicates[f"seeds.{one}"].notna().any()]


def stars(replicates: pd.DataFrame) -> list[Star]:
    """The stars among trials that are replicates of each other, in the order of the table.

    The middle of a star is whoever has most neighbours; of two trials alone, the first. A trial has one star only, so
    that rounds share no trial.
    """
    streams = drawn_from(replicates)
    columns = replicates[[f"seeds.{stream}" for stream in streams]]
    seeds = [tuple(None if is_gap(v) else int(v) for v in row) for row in columns.to_numpy(dtype=object).tolist()]
    at = {one: row for row, one in reversed(list(enumerate(seeds)))}
    neighbours = _neighbours(seeds, streams)
    taken: set[int] = set()
    found = []
    for base in sorted(range(len(seeds)), key=lambda row: (-sum(map(len, neighbours[row].values())), row)):
        changed = {s: [row for row in rows if row not in taken] for s, rows in neighbours[base].items()}
        if base in taken or not any(changed.values()):
            continue
        star = Star(base, {stream: rows[0] for stream, rows in changed.items() if rows})
        wanted = tuple(seeds[star.changed.get(s, base)][i] for i, s in enumerate(streams))
        other = at.get(wanted) if len(star.changed) > 1 else None
        star.other = None if other in taken else other
        taken |= {base, *star.changed.values(), *([star.other] if star.other is not None else [])}
        found.append(star)
    return sorted(found, key=lambda star: star.base)


def _neighbours(seeds: list[tuple[int | None, ...]], streams: list[str]) -> list[dict[str, list[int]]]:
    """For each trial and stream, the trials that differ from it in that stream alone."""
    found: list[dict[str, list[int]]] = [{stream: [] for stream in streams} for _ in seeds]
    for i, stream in enumerate(streams):
        alike: dict[tuple[int | None, ...], list[int]] = {}
        for row, one in enumerate(seeds):
            alike.setdefault((*one[:i], *one[i + 1 :]), []).append(row)
        for rows in alike.values():
            for row in rows:
                found[row][stream] = [other for other in rows if seeds[other] != seeds[row]]
    return found
