"""What the page says beside its figures, as grids of text: how complete, which settings and versions, what failed."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from bertxfer.report import cells, scorecard, words
from bertxfer.report.correlations import FEWEST_PERMUTATIONS
from bertxfer.report.frame import Completeness
from bertxfer.report.places import sizes
from bertxfer.report.profiles import FEWEST_SEEDS
from bertxfer.report.published import Published
from bertxfer.report.scorecard import Scorecard
from bertxfer.report.statistics import FEWEST_PAIRS, LEVEL, counted
from bertxfer.report.tables import Table
from bertxfer.report.variance import FEWEST_ROUNDS
from bertxfer.store.store import Store
from bertxfer.sweeps.sweep import Point
from bertxfer.trials.science import flatten

_COUNTS = (
    "permutations",
    "layers",
    "places",
    "seeds",
    "seeds of probes",
)  # columns of tables of tests
# How columns begin that have numbers of a comparison, and do not say which one it is.
_NUMBERS = (
    "p (",
    "difference",
    "95%",
    "effect",
    "pairs",
    "share",
    "benefit",
    "triples",
    "sd x100",
    "alone",
    "rounds",
    "Spearman",
    "Pearson",
)
# As "-12.3", "80.0 ± 1.2", "< 0.001", "-1.0 to 2.0", "3 of 4", or a dash.
_NUMBER = re.compile(r"(-|[<+-]?\s?[\d.,]+(%| ±.*| to [\d.,-]+| of \d+| \(.*\))?)$")
_FEW = 8  # values of an axis that are listed one by one


@dataclass(frozen=True)
class Grid:
    """A table of the page. `tasks` has the task of each row where a filter may hide it; `marks` classes of cells;
    `papers` what the paper prints of each cell."""

    columns: list[str]
    rows: list[list[str]]
    tasks: list[str | None] = field(default_factory=list)
    marks: list[list[str]] = field(default_factory=list)
    papers: list[list[str]] = field(default_factory=list)

    @property
    def numeric(self) -> list[bool]:
        """The columns of numbers, whose digits stand under each other."""
        columns = zip(*self.rows, strict=True) if self.rows else [[""]] * len(self.columns)
        return [any(map(_NUMBER.match, cells)) and all(not c or _NUMBER.match(c) for c in cells) for cells in columns]


def shares(counts: Completeness) -> list[tuple[str, float]]:
    """The parts of the bar, in percent."""
    total = max(1, counts.trials)
    return [(state, 100 * getattr(counts, state) / total) for state in ("done", "failed", "missing", "not_needed")]


def progress(results: pd.DataFrame) -> Grid:
    """Done of all trials, for every task and size."""
    trials = results.drop_duplicates("id").assign(size=sizes)
    columns = list(dict.fromkeys(trials["size"]))
    rows, tasks = [], list(dict.fromkeys(trials["task.name"]))
    done = trials["state"] == "done"
    for task in tasks:
        of_task = trials["task.name"] == task
        cells = [of_task & (trials["size"] == size) for size in columns]
        rows.append([words.task(task), *(f"{int((cell & done).sum())} of {int(cell.sum())}" for cell in cells)])
    return Grid(["task", *columns], rows, [str(task) for task in tasks])


def axes(points: Sequence[Point]) -> Grid:
    """Every axis as it was typed, with its values."""
    values_of: dict[str, dict[str, Any]] = {}
    for point in points:
        for key, value in point.axes.items():
            values_of.setdefault(key, {})[json.dumps(value, sort_keys=True, default=str)] = value
    rows = [[key, few(list(values.values())), str(len(values))] for key, values in values_of.items()]
    return Grid(["axis", "values", "how many"], rows)


def settings(results: pd.DataFrame, defaults: Mapping[str, Any]) -> tuple[Grid, Grid]:
    """What differs from the defaults, and all settings. Treatments are left out: the axes say more."""
    usual = flatten(dict(defaults))
    trials = results.drop_duplicates("id")
    rows = []
    # Columns such as `data.n` may hold what was typed, which is the same or says more.
    for key in (key for key in results.columns if _is_setting(key, defaults)):
        values = [None if pd.isna(value) else value for value in trials[key].drop_duplicates().tolist()]
        default = usual.get(key)
        rows.append(([key, few(values), _text(default)], any(value != default for value in values)))
    columns = ["key", "here", "default"]
    return Grid(columns, [row for row, differs in rows if differs]), Grid(columns, [row for row, _ in rows])


def _is_setting(key: str, defaults: Mapping[str, Any]) -> bool:
    """Whether a column is of the scientific config; `task` alone is an axis."""
    part = key.split(".")[0]
    return part in defaults and part != "treatment" and (key != part or not isinstance(defaults[part], dict))


def versions(ids: Iterable[str], store: Store) -> Grid:
    """With what the results were made: each version, and how many trials have it."""
    counts_of: dict[str, Counter[str]] = {}
    for trial_id in dict.fromkeys(ids):
        result = store.result_alone(trial_id) or {}
        for key, value in result.get("environment", {}).items():
            counts_of.setdefault(key, Counter())[_text(value)] += 1
    rows = []
    for key, counts in counts_of.items():
        only = len(counts) == 1
        listed = ", ".join(value if only else f"{value} ({count} trials)" for value, count in counts.most_common())
        rows.append([key.replace("_", " "), listed])
    return Grid(["of the results", "version"], rows)


def table(made: Table, printed: Published | None = None) -> Grid:
    """A table of results, shaded and bold as it is on paper; its sentences have a section of their own."""
    shown = made.cells.drop(columns="in words", errors="ignore")
    papers = _papers(made, printed) if printed is not None else []
    # Kept together, or a heading takes three lines.
    shown = shown.rename(columns={"p (Benjamini-Hochberg)": "p (B\u2011H)", "p (paired t)": "p (paired\u00a0t)"})
    columns = list(shown.columns)
    rows = [[str(cell) for cell in row] for row in shown.itertuples(index=False)]
    task = next((name for name in ("task", "final task") if name in columns), None)
    marks = [
        [
            " ".join(mark for mark, cells in (("best", made.shaded), ("bold", made.bold)) if (row, column) in cells)
            for column in columns
        ]
        for row in range(len(rows))
    ]
    tasks = [words.key_of_task(str(value)) for value in shown[task]] if task else []
    return Grid(columns, rows, list(tasks), marks, papers)


def _papers(made: Table, printed: Published) -> list[list[str]]:
    """What the paper prints of each cell; nothing where it has none of this table's rows."""
    known = printed.of_table(made.name)
    columns = [column for column in made.cells if column != "in words"]
    found = []
    for row in made.cells[columns].itertuples(index=False):
        names = [str(cell).casefold() for cell in row]
        found.append(
            [next((known[name, column] for name in names if (name, column) in known), "") for column in columns]
        )
    return found if any(map(any, found)) else []


_LACKING = "too few|nothing can be said|no pair|no seed"
# What a table counts, by a column that only such tables have: the noun, its column, and how many a claim needs.
_LEAST_OF = {
    "seeds": ("seed", "seeds", FEWEST_SEEDS),
    "spearman": ("permutation", "n", FEWEST_PERMUTATIONS),
    "rounds": ("round", "rounds", FEWEST_ROUNDS),
    "share": ("triple", "n", FEWEST_PAIRS),
    "": ("pair", "n", FEWEST_PAIRS),
}


def silent(made: Table) -> str | None:
    """One sentence in place of a table that can say nothing yet: what is missing."""
    if made.cells.empty:
        return "Nothing yet: no trial that it needs is done."
    if "words" in made.data and made.data["words"].str.contains(_LACKING).all():
        noun, column, fewest = next(counts for only, counts in _LEAST_OF.items() if not only or only in made.data)
        counts = made.data[column].astype(int)
        return (
            f"Nothing can be said yet: {counted(len(made.data), 'comparison')} of {cells.span_of(counts)} "
            f"{noun}{'' if counts.max() == 1 else 's'} each, and a claim needs {fewest}. The files have the numbers."
        )
    numbers = [column for column in made.cells if column not in (*_COUNTS, "in words", "metric", "training rows")]
    values = made.cells[numbers].select_dtypes("object").map(lambda cell: str(cell))
    told = values.loc[:, [not values[c].str.match(r"^[A-Za-z_].*").any() for c in values]]
    if len(told.columns) and told.isin(["-", ""]).all().all():
        return "Nothing yet: none of the trials that it needs has a score."
    return None


@dataclass(frozen=True)
class Claimed:
    """A claim on the page: its sentence, what its paper prints, and a row for each case."""

    sentence: str
    published: str | None
    grid: Grid


def claims(card: Scorecard) -> list[Claimed]:
    """What the experiment sets out to decide, and what is decided."""
    made = []
    for entry in card.entries:
        rows = scorecard.rows(entry)
        tasks = [str(one.case.place["task"]) if "task" in one.case.place else None for one in entry.decisions]
        verdicts = [one.verdict.verdict.replace(" ", "-") for one in entry.decisions]
        marks = [[*[""] * (len(row) - 1), f"verdict {said}"] for row, said in zip(rows, verdicts, strict=True)]
        made.append(Claimed(entry.sentence, entry.claim.published, Grid(scorecard.COLUMNS, rows, tasks, marks)))
    return made


@dataclass(frozen=True)
class Finding:
    """One comparison in words."""

    comparison: str
    words: str
    task: str | None = None


def findings(made: Table) -> tuple[str, list[Finding]] | None:
    """A table of tests in words: how many of its comparisons show something, and what each says."""
    cells = made.cells
    if "in words" not in cells or cells.empty:
        return None
    numbers = [column for column in cells.columns if column.startswith((*_NUMBERS, "in words", *_COUNTS))]
    names = [column for column in cells.columns if column not in (*numbers, *_COUNTS, "measure")]
    lines = []
    lacking = made.data["words"].str.contains(_LACKING) if "words" in made.data else [False] * len(cells)
    for row, too_few in zip(cells.to_dict("records"), lacking, strict=True):
        if too_few:
            continue
        comparison = ", ".join(_named(name, str(row[name])) for name in names if str(row[name]) != "-")
        lines.append(
            Finding(
                comparison or "all",
                str(row["in words"]),
                words.key_of_task(str(row["task"])) if "task" in row else None,
            )
        )
    return f"{made.title}: {_counted(made.data)}", lines


# What the sign of a significant number means, and what is said where there is none: of differences and of correlations.
_OUTCOMES = {
    "mean": ("significantly lower", "significantly higher", "without a difference shown", "pairs"),
    "spearman": ("inversely correlated", "correlated", "without a correlation shown", "permutations"),
}


def _counted(data: pd.DataFrame) -> str:
    """How many comparisons show a difference, in one sentence."""
    if "p_holm" not in data:
        return f"{len(data)} comparisons."
    column = next(column for column in _OUTCOMES if column in data)
    below, above, nothing, noun = _OUTCOMES[column]
    shown = data["p_holm"] < LEVEL
    lower, higher = int((shown & (data[column] < 0)).sum()), int((shown & (data[column] > 0)).sum())
    lacking = int(data["words"].str.contains("too few|nothing can be said").sum())
    outcomes = {below: lower, above: higher, nothing: len(data) - lower - higher - lacking}
    outcomes[f"with too few {noun} for a claim"] = lacking
    parts = [f"{count} {outcome}" for outcome, count in outcomes.items() if count]
    if lacking == len(data):
        return f"of {len(data)} comparisons, {', '.join(parts)}."
    family = "the others" if lacking else "all of them"
    return f"of {len(data)} comparisons, {', '.join(parts)} (5% level, Holm's correction over {family})."


def few(values: Sequence[Any]) -> str:
    """Values in a few words: all of them, or a run, or the first and the last."""
    whole = [value for value in values if isinstance(value, int) and not isinstance(value, bool)]
    if len(whole) == len(values) > 2 and sorted(whole) == list(range(min(whole), max(whole) + 1)):
        return f"{min(whole)} to {max(whole)}"
    texts = [_text(value) for value in values]
    if any(", " in value for value in texts):  # lists
        return "; ".join(f"[{value}]" for value in texts)
    return ", ".join(texts) if len(texts) <= _FEW else f"{', '.join(texts[:4])}, … {texts[-1]} ({len(texts)} values)"


def _named(column: str, value: str) -> str:
    return value if column in ("task", "treatment", "tasks compared") else f"{column}={value}"


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
