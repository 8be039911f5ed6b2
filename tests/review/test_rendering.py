"""The Markdown of a review: short for small changes, folded for large ones, each trial counted once."""

from bertxfer.review import comparison, rendering
from bertxfer.review.comparison import Changed, Comparison, Difference
from bertxfer.review.diff import Review
from bertxfer.review.listing import Broken, ListedPoint


def place(trial: str, **axes: object) -> ListedPoint:
    return ListedPoint(axes, trial, {}, {})


def changed(name: str, count: int) -> Comparison:
    pairs = [(place(f"old{i}", seed=i), place(f"new{i}", seed=i)) for i in range(count)]
    return Comparison(name, name, changed=[Changed((Difference("optimizer.lr", 1, 2),), pairs)])


def test_a_small_change_is_short() -> None:
    review = Review(
        "main", "c", [Comparison("e", "e", added=[place("a", k=1, seed=0), place("b", k=2, seed=0)], kept=3)]
    )
    assert rendering.markdown(review).splitlines()[:7] == [
        "### Trials: 2 added",
        "",
        "Compared with `main`.",
        "",
        "**e**: 2 added, 3 as before",
        "",
        "- added: `k=1..2 × seed=0`",
    ]


def test_a_large_change_is_counted_and_folded() -> None:
    review = Review("main", "c", [changed(f"e{i}", 3) for i in range(12)], {("e0", "optimizer.lr"): "conf/a.yaml:3"})
    told = rendering.markdown(review)
    assert told.startswith("### Trials: 3 changed\n")  # the same three trials in twelve experiments
    assert "- `optimizer.lr: 1 -> 2`, conf/a.yaml:3: 3 trials, of e0" in told
    assert "- `optimizer.lr: 1 -> 2`: 3 trials, of 11 experiments" in told
    head, folded = told.split("<details>")
    assert "| e7 |  | 3 |  |  |" in head
    assert "changed: `seed=0..2` (3)" in folded
    assert folded.count("</details>") == 1


def test_no_comment_is_longer_than_github_takes() -> None:
    review = Review("main", "c", [changed("e" * 100 + str(i), 1) for i in range(400)])
    assert len(rendering.markdown(review)) < 65536


def test_what_is_broken_and_what_is_not() -> None:
    broken = Comparison("e", "e", broken_now=Broken("k: 13 is out of range", "conf/experiment/e.yaml", 4))
    told = rendering.markdown(Review("main", "c", [broken, Comparison("f", "f", kept=2)]))
    assert told.startswith("### An experiment is broken\n")
    assert "- now: conf/experiment/e.yaml:4: k: 13 is out of range" in told
    assert rendering.markdown(Review("main", "c", [Comparison("f", "f", kept=2)])).startswith("### No trial changes\n")


def test_axes_in_few_words() -> None:
    grid = [place(f"{task}{k}", task=task, k=k) for task in ("a", "b") for k in (0, 1, 2, 7)]
    assert rendering.axes_text(grid) == "task=a,b × k=0..2,7"
    assert rendering.axes_text(grid[:-1]) == "task=a,b × k=0..2,7 (not in all combinations)"
    assert rendering.axes_text([place("x")]) == "the one trial"
    assert comparison.lookup({"task": {"name": "a", "n": 1}}, "task") == "a"
