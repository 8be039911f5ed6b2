"""A review for people and programs: text for a terminal, Markdown for a pull request, JSON for the rest."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

from bertxfer.review import costs
from bertxfer.review.comparison import Changed, Comparison
from bertxfer.review.diff import Review
from bertxfer.review.listing import ListedPoint

_FOLD = 24  # lines of details that a comment shows unfolded
_LONGEST = 60_000  # characters; GitHub refuses a comment of more than 65536


def text(review: Review) -> str:
    lines = [f"trials of the working tree, compared with {review.revision}", ""]
    for comparison in _worth_showing(review):
        lines += [
            f"{comparison.name}: {_headline(comparison)}",
            *(f"  {line}" for line in _details(review, comparison)),
        ]
        lines.append("")
    return "\n".join([*lines, *_closing(review)])


def markdown(review: Review) -> str:
    """All of a small change; of a large one the causes and the counts, and the rest folded."""
    shown = _worth_showing(review)
    details: list[str] = []
    for comparison in shown:
        details += [f"**{comparison.name}**: {_headline(comparison)}", ""]
        details += [_item(line) for line in _details(review, comparison, _code)] + [""]
    lines = [f"### {_title(review)}", "", f"Compared with {_code(review.revision)}.", ""]
    closing = [f"- {line.strip()}" if line.startswith(" ") else f"\n{line}" for line in _closing(review)]
    if len(details) > _FOLD:
        rows = [_row(comparison) for comparison in shown]
        table = ["| experiment | added | changed | removed | as before |", "|---|--:|--:|--:|--:|", *rows, ""]
        summary = f"<details><summary>Which trials, in {len(shown)} experiments</summary>"
        folded = [summary, "", *details, "</details>"]
        if sum(map(len, folded)) > _LONGEST:
            folded = ["The details are too long for a comment; `python -m bertxfer diff` shows them."]
        lines += [*_causes(review), *table, *folded]
    else:
        lines += details
    return "\n".join([*lines, *closing])[:_LONGEST]


def _item(line: str) -> str:
    depth = len(line) - len(line.lstrip())
    return f"{' ' * depth}- {line.lstrip()}"


def _row(comparison: Comparison) -> str:
    if comparison.broken_now:
        return f"| {comparison.name} | broken: {comparison.broken_now} | | | |"
    counts = (len(comparison.added), _changed(comparison), len(comparison.removed), comparison.kept)
    return f"| {comparison.name} | " + " | ".join(f"{count:,}" if count else "" for count in counts) + " |"


def _causes(review: Review) -> list[str]:
    """What changed trials differ in, over all experiments: one edited default may affect every one of them."""
    causes: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    for comparison in review.comparisons:
        for group in comparison.changed:
            for key, old, new, source in _differences(review, comparison, group):
                where = (source or "").split(", chosen by")[0].split(", through")[0]
                change = (_code(f"{key}: {_value(old)} -> {_value(new)}"), where)
                trials, names = causes.setdefault(change, (set(), set()))
                trials.update(now.id for _, now in group.pairs)
                names.add(comparison.name)
    lines = [
        f"- {change}{f', {where}' if where else ''}: {len(trials):,} trials, "
        + (f"of {len(names)} experiments" if len(names) > 1 else f"of {next(iter(names))}")
        for (change, where), (trials, names) in causes.items()
    ]
    more = [f"- and {len(lines) - 12} more differences"] if len(lines) > 12 else []
    return [*lines[:12], *more, ""] if lines else []


def as_json(review: Review) -> str:
    plain = {
        "revision": review.revision,
        "commit": review.commit,
        "experiments": [_plain(review, comparison) for comparison in review.comparisons],
        "finished": {
            "unused": review.unused,
            "valid": review.valid,
            "new": review.finished_new,
        },
        "cost": {**vars(review.new), "seconds": review.new.seconds},
        "notes": review.notes,
    }
    return json.dumps(plain, indent=2)


def axes_text(points: Sequence[ListedPoint]) -> str:
    """The axes of some points in few words: `task=a,b × k=0..12 × seed=3`, grid by grid."""
    grids: dict[tuple[str, ...], list[dict[str, Any]]] = {}
    for point in points:
        grids.setdefault(tuple(key for key in point.axes if key != "experiment"), []).append(point.axes)
    shown = [_product(keys, axes) for keys, axes in grids.items()]
    return "; ".join(shown[:6]) + (f"; and {len(shown) - 6} more grids" if len(shown) > 6 else "")


def _product(keys: Sequence[str], axes: Sequence[dict[str, Any]]) -> str:
    values = {key: _distinct([point[key] for point in axes]) for key in keys}
    size = math.prod(len(options) for options in values.values())
    shown = " × ".join(f"{key}={_spans(options)}" for key, options in values.items()) or "the one trial"
    distinct = len({json.dumps(point, sort_keys=True) for point in axes})
    return shown if size == distinct else f"{shown} (not in all combinations)"


def _worth_showing(review: Review) -> list[Comparison]:
    return [comparison for comparison in review.comparisons if comparison.changes or comparison.broken]


def _title(review: Review) -> str:
    if not review.changes:
        return "An experiment is broken" if review.broken_now else "No trial changes"
    # Each trial once, though several experiments may have it.
    pairs = [pair for comparison in review.comparisons for group in comparison.changed for pair in group.pairs]
    old, new = {before.id for before, _ in pairs}, {now.id for _, now in pairs}
    added = {point.id for comparison in review.comparisons for point in comparison.added}
    removed = {point.id for comparison in review.comparisons for point in comparison.removed}
    counts = {"added": len(added - new), "changed": len(new), "removed": len(removed - old)}
    return "Trials: " + ", ".join(f"{count:,} {word}" for word, count in counts.items() if count)


def _headline(comparison: Comparison) -> str:
    if comparison.broken_now:
        return "broken"
    if comparison.broken_before:
        return "was broken, so there is nothing to compare with"
    parts = [f"{len(comparison.added):,} added", f"{_changed(comparison):,} changed"]
    parts += [f"{len(comparison.removed):,} removed", f"{comparison.kept:,} as before"]
    counts = ", ".join(part for part in parts if not part.startswith("0 "))
    if comparison.was is None:
        return f"a new experiment, {counts}"
    if comparison.now is None:
        return f"is gone, {counts}"
    return counts if comparison.was == comparison.now else f"was {comparison.was}, {counts}"


def _details(review: Review, comparison: Comparison, code: Any = str) -> Iterator[str]:
    for when, broken in (("in " + review.revision, comparison.broken_before), ("now", comparison.broken_now)):
        if broken is not None:
            yield f"{when}: {broken}"
    if comparison.added:
        yield f"added: {code(axes_text(comparison.added))}"
    if comparison.removed:
        yield f"removed: {code(axes_text(comparison.removed))}"
    for group in comparison.changed:
        yield f"changed: {code(axes_text([now for _, now in group.pairs]))} ({len(group.pairs):,})"
        for key, old, new, source in _differences(review, comparison, group):
            yield f"  {code(f'{key}: {_value(old)} -> {_value(new)}')}" + (f", {source}" if source else "")
    if unused := review.unused.get(comparison.name):
        yield f"{len(unused):,} finished results become unused"


def _differences(review: Review, comparison: Comparison, group: Changed) -> Iterator[tuple[str, Any, Any, str | None]]:
    for difference in group.differences:
        source = review.sources.get((comparison.name, difference.key))
        yield difference.key, difference.old, difference.new, source


def _closing(review: Review) -> Iterator[str]:
    same = [c for c in review.comparisons if not c.changes and not c.broken]
    renamed = [f"{c.was} is now {c.now}" for c in same if c.was != c.now]
    if renamed:
        yield f"only renamed, no trial changes: {', '.join(renamed)}"
    if plain := [c.name for c in same if c.was == c.now]:
        shown = ", ".join(plain) if len(plain) <= 8 else f"{len(plain)} experiments"
        yield f"no trial changes: {shown}"
    if not review.comparisons:
        yield "no trial changes"
    unused = sorted({trial for trials in review.unused.values() for trial in trials})
    if review.changes and (unused or review.valid):
        yield f"finished results: {len(unused):,} become unused, {review.valid:,} stay valid"
    if review.finished_new:
        yield f"of the new trials, {review.finished_new:,} are finished already"
    if review.new.trials:
        first, *rest = costs.sentences(review.new)
        yield f"new to run: {review.new.trials:,} trials; {first}"
        yield from rest
    yield from (f"note: {note}" for note in review.notes)


def _plain(review: Review, comparison: Comparison) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "was": comparison.was,
        "now": comparison.now,
        "kept": comparison.kept,
        "added": [{"id": point.id, "axes": point.axes} for point in comparison.added],
        "removed": [{"id": point.id, "axes": point.axes} for point in comparison.removed],
        "changed": [
            {
                "differences": [
                    {"key": key, "old": old, "new": new, "source": source}
                    for key, old, new, source in _differences(review, comparison, group)
                ],
                "trials": [{"axes": now.axes, "old": old.id, "new": now.id} for old, now in group.pairs],
            }
            for group in comparison.changed
        ],
        "broken_before": str(comparison.broken_before) if comparison.broken_before else None,
        "broken_now": str(comparison.broken_now) if comparison.broken_now else None,
    }


def _changed(comparison: Comparison) -> int:
    return sum(len(group.pairs) for group in comparison.changed)


def _distinct(values: Sequence[Any]) -> list[Any]:
    return list({json.dumps(value): value for value in values}.values())


def _spans(values: Sequence[Any]) -> str:
    """1, 2, 3, 7 as 1..3,7."""
    if not all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return ",".join(_value(value) for value in values)
    runs: list[list[int]] = []
    for value in sorted(values):
        if runs and value == runs[-1][-1] + 1:
            runs[-1].append(value)
        else:
            runs.append([value])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}..{run[-1]}" for run in runs)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _code(text: str) -> str:
    return f"`{text}`"
