"""A change of configs or code reviewed as experiments: two revisions listed, compared, explained and priced."""

import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bertxfer.config import experiments, schema
from bertxfer.config.composer import Composer
from bertxfer.errors import BertxferError
from bertxfer.review import comparison, costs, listing, provenance
from bertxfer.review.comparison import Comparison, Difference
from bertxfer.review.costs import Bill
from bertxfer.review.listing import ListedPoint, Listing
from bertxfer.review.revisions import Repository
from bertxfer.store.store import Store
from bertxfer.system.package import PACKAGE
from bertxfer.trials import science

# Run in the other tree: `-m` would take the package from the current folder.
# `bertxfer.listing` is its name in revisions from before the rooms, and still works in later ones.
_LIST = "import sys; sys.path[0] = sys.argv[1]; from bertxfer import listing; listing.main(sys.argv[2:])"


@dataclass(frozen=True)
class Review:
    revision: str  # as the user named it
    commit: str
    comparisons: list[Comparison] = field(default_factory=list)
    sources: dict[tuple[str, str], str] = field(default_factory=dict)  # of an experiment's changed key
    unused: dict[str, list[str]] = field(default_factory=dict)  # finished results that no experiment means any more
    valid: int = 0  # finished results that stay
    finished_new: int = 0  # new trials that already have a result
    new: Bill = field(default_factory=Bill)
    notes: list[str] = field(default_factory=list)

    @property
    def changes(self) -> int:
        return sum(comparison.changes for comparison in self.comparisons)

    @property
    def broken_now(self) -> list[Comparison]:
        return [comparison for comparison in self.comparisons if comparison.broken_now]


def review(revision: str | None, names: Sequence[str], store: Store) -> Review:
    """How the working tree differs from a revision, in trials. Nothing is checked out."""
    conf = schema.conf_dir()
    repository = Repository(conf.parent)
    commit = repository.commit(revision) if revision else repository.base()
    label = revision or f"{commit[:10]} (where this branch left the main branch)"
    if repository.same(commit):
        return Review(label, commit, notes=["conf/ and the code are the same, so every trial is"])
    with tempfile.TemporaryDirectory(prefix="bertxfer-") as folder:
        tree = Path(folder).resolve()
        repository.take_out(commit, tree)
        if not (tree / "conf").is_dir():
            raise BertxferError(f"{label} has no conf/, so there is nothing to compare with")
        before, now = _chosen(experiments.names(tree / "conf"), names), _chosen(experiments.names(conf), names)
        for name in names:
            if name not in before and name not in now:
                raise BertxferError(f"{name!r} is an experiment neither of {label} nor of the working tree")
        old, new, notes = _both(tree, before, conf, now)
        return _judged(label, commit, old, new, _Sources(tree, conf), store, notes, bool(names))


def _chosen(known: Sequence[str], names: Sequence[str]) -> list[str]:
    return [name for name in known if not names or name in names]


def _both(tree: Path, before: list[str], conf: Path, now: list[str]) -> tuple[Listing, Listing, list[str]]:
    """The two listings, each made by its own revision's code, at the same time."""
    other = _start(tree, tree / "conf", before)
    this = _start(conf.parent, conf, now)
    new, complaint = _listed(this)
    if new is None:
        raise BertxferError(f"the experiments of the working tree cannot be listed: {complaint}")
    old, complaint = _listed(other)
    if old is not None:
        return old, new, []
    old, failed = _listed(_start(conf.parent, tree / "conf", before))
    if old is None:
        raise BertxferError(f"the experiments of the other revision cannot be listed: {failed}")
    why = "it has none" if "listing'" in complaint else complaint
    return old, new, [f"its conf/ was read by the code of the working tree, because its own listing failed: {why}"]


def _start(code: Path, conf: Path, names: Sequence[str]) -> "subprocess.Popen[str]":
    around = {**os.environ, "PYTHONPATH": os.pathsep.join([str(code), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", _LIST, str(code), str(conf), *(names or ["--none"])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=around)


def _listed(process: "subprocess.Popen[str]") -> tuple[Listing | None, str]:
    output, complaint = process.communicate()
    try:
        if process.returncode == 0:
            return listing.load(output), ""
    except (ValueError, KeyError, TypeError) as error:
        return None, f"{error}"
    return None, (complaint.strip().splitlines() or [f"it ended with status {process.returncode}"])[-1]


def _judged(
    label: str, commit: str, old: Listing, new: Listing, sources: "_Sources", store: Store, notes: list[str], part: bool
) -> Review:
    comparisons = comparison.compare(old, new)
    causes = {
        (comparison.name, difference.key): source
        for comparison in comparisons
        for group in comparison.changed
        for difference in group.differences
        if (source := sources.of(comparison, difference, *group.pairs[0])) is not None
    }
    done = store.finished()
    gone = (old.ids - new.ids) & done
    if gone and part:  # another experiment may still mean them
        gone -= listing.listing(schema.conf_dir()).ids
    unused = {
        comparison.name: ids
        for comparison in comparisons
        if (ids := sorted(gone & {point.id for point in _points(old, comparison.was)}))
    }
    fresh = {point.id: point for name in new.experiments for point in _points(new, name) if point.id not in old.ids}
    works = [work_of(point) for point in fresh.values() if point.id not in done]
    return Review(
        label,
        commit,
        comparisons,
        causes,
        unused,
        len(old.ids & new.ids & done),
        len(set(fresh) & done),
        costs.bill(works, costs.timings_in(store, {work.model for work in works}) if works else []),
        [*notes, *_caveats(old, new, store, gone)],
    )


def work_of(point: ListedPoint) -> costs.Work:
    return costs.work_of(point.science, point.config["task"].get("train_size"))


def _caveats(old: Listing, new: Listing, store: Store, gone: set[str]) -> list[str]:
    """What the reader must know to take the numbers for what they are."""
    caveats = []
    if absent := sorted({*old.absent, *new.absent}):
        caveats.append(
            f"not on this machine: {', '.join(absent)}; the ids of their trials are comparable between these two "
            "revisions only, and whether they are finished is not known here"
        )
    if not (store.root / "trials").is_dir():
        caveats.append(f"there are no results in {store.root}, so what is finished elsewhere is not known here")
    elif gone and any(isinstance(points, listing.Broken) for points in new.experiments.values()):
        caveats.append("a result that counts as unused may belong to an experiment that is broken now")
    return caveats


def _points(listed: Listing, name: str | None) -> list[ListedPoint]:
    points = listed.experiments.get(name or "", [])
    return points if isinstance(points, list) else []


class _Sources:
    """Where the values of changed keys are set, in the other revision and now."""

    def __init__(self, tree: Path, conf: Path) -> None:
        self._composers = {"old": Composer(tree / "conf"), "new": Composer(conf)}
        self._known: dict[tuple[str, ...], provenance.Provenance] = {}

    def of(self, comparison: Comparison, difference: Difference, before: ListedPoint, now: ListedPoint) -> str | None:
        if difference.key == "semantics":
            return f"{_semantics_line()}: the code computes another result from the same config"
        if difference.key in ("model.version", "task.version"):
            return "the files themselves are different"
        old = self._source("old", comparison.was, difference.key, before)
        new = self._source("new", comparison.now, difference.key, now)
        if new is None:
            return None if old is None else f"was in {old}"
        plainly_edited = old is None or old.split(":")[0].split(",")[0] == new.split(":")[0].split(",")[0]
        return new if plainly_edited else f"{new}; was {old}"

    def _source(self, side: str, experiment: str | None, key: str, point: ListedPoint) -> str | None:
        composer, experiment = self._composers[side], listing.experiment_of(str(experiment))
        try:
            if key in point.axes:
                source = provenance.in_grids(composer, experiment, key, point.axes)
                return None if source is None else source.where
            groups = [f"{axis}={value}" for axis, value in point.axes.items() if composer.is_group(axis)]
            words = (f"experiment={experiment}", *groups)
            known = (side, *words)
            if known not in self._known:
                self._known[known] = provenance.Provenance(composer, words)
            return provenance.traced(self._known[known], key)
        except Exception:  # the difference stands, even if its source cannot be found
            return None


def _semantics_line() -> str:
    path = Path(science.__file__)
    shown = path.relative_to(PACKAGE.parent).as_posix()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        targets: list[Any] = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == "SEMANTICS" for target in targets):
            return f"{shown}:{node.lineno}"
    return shown
