"""Answers: how they are compared with gold answers, and how they are chosen from scores."""

import numpy as np
import pytest

from bertxfer.tasks import answers
from bertxfer.tasks.task import SpanScience

SPAN = SpanScience(question_length=64, answer_length=3, n_best=5, null_threshold=0.0)


@pytest.mark.parametrize(
    ("text", "golds", "exact", "f1"),
    [
        ("Denver Broncos", ["Denver Broncos"], 1, 1),
        ("the Denver Broncos", ["Denver Broncos"], 1, 1),  # articles
        ("An apple a day", ["apple day"], 1, 1),
        ("theatre", ["atre"], 0, 0),  # an article is a word, not the start of one
        ("a", ["the"], 1, 1),  # nothing is left of either
        ("Santa Clara, California.", ["santa clara california"], 1, 1),  # punctuation, case
        ("U.S.A.", ["USA"], 1, 1),
        ("the-end", ["end"], 0, 0),  # the hyphen goes first, so "the" is no word of its own any more
        ("well-known", ["well known"], 0, 0),  # and the two parts become one word
        ("$1.5 million", ["1.5 million"], 1, 1),
        ("Beyoncé", ["BEYONCÉ"], 1, 1),  # unicode has cases too
        ("Beyonce", ["Beyoncé"], 0, 0),  # but an accent is not dropped
        ("1969\u20131970", ["19691970"], 0, 0),  # an en dash is not ASCII punctuation, so it stays
        ("«Le Monde»", ["Le Monde"], 0, 0),
        ("new\u00a0york", ["New York"], 1, 1),  # a no-break space is space
        ("  two   words ", ["two words"], 1, 1),
        ("the big apple", ["big red apple"], 0, 2 * 2 / 5),
        ("red red apple", ["red apple apple"], 0, 2 * 2 / 6),  # words are counted, not just present
        ("Paris", ["London", "city of Paris", "Paris, France"], 0, 2 / 3),  # the best of several golds
        ("Paris", ["Paris", "in Paris"], 1, 1),
        ("", [], 1, 1),  # rightly nothing
        ("Paris", [], 0, 0),  # an answer where there is none
        ("", ["Paris"], 0, 0),  # no answer where there is one
        ("the", [], 1, 1),  # nothing but an article is nothing
        ("", ["the", "Paris"], 0, 0),  # a gold of articles only does not count beside another
        ("", ["the"], 1, 1),
        ("Paris", ["", "Paris"], 1, 1),
    ],
)
def test_exact_match_and_f1(text: str, golds: list[str], exact: float, f1: float) -> None:
    assert answers.exact_match(text, golds) == exact
    assert answers.f1(text, golds) == pytest.approx(f1)


PASSAGE = "Ada wrote the first program."
STARTS = [-1, -1, -1, 0, 4, 10, 14, 20, 27, -1]  # [CLS] who [SEP] Ada wrote the first program . [SEP]
ENDS = [-1, -1, -1, 3, 9, 13, 19, 27, 28, -1]


def scores(null: float, **places: float) -> np.ndarray:
    """start3=5.0 is a start score of 5 at token 3."""
    table = np.full((len(STARTS), 2), -10.0, dtype=np.float32)
    table[0] = null / 2
    for place, value in places.items():
        table[int(place[-1]), 0 if place.startswith("start") else 1] = value
    return table


def chosen(table: np.ndarray, span: SpanScience = SPAN) -> answers.Choice:
    return answers.choose(PASSAGE, [(table, STARTS, ENDS)], span)


def test_the_best_pair_in_order_is_the_answer() -> None:
    assert chosen(scores(0, start3=5, end3=4)).text == "Ada"
    assert chosen(scores(0, start6=5, end7=4)).text == "first program"
    backwards = chosen(scores(-40, start7=5, end3=5))
    assert backwards.text and backwards.score == -5  # one of them with its own best partner


def test_no_answer_outside_the_passage_or_longer_than_allowed() -> None:
    assert chosen(scores(-40, start1=50, end1=50)).text != "who"
    assert chosen(scores(-40, start3=5, end7=5)).score == -5  # five tokens are more than three
    long = SpanScience(64, 5, 5, 0.0)
    assert chosen(scores(-40, start3=5, end7=5), long).text == "Ada wrote the first program"


def test_null_score_and_threshold() -> None:
    table = scores(9.5, start3=5, end3=4)
    assert chosen(table).text == ""
    assert chosen(table).best == "Ada"
    assert (chosen(table).null_score, chosen(table).score) == (9.5, 9.0)
    assert chosen(table, SpanScience(64, 3, 5, 0.5)).text == "Ada"  # only more than the threshold is null


def test_the_best_of_all_windows_and_the_lowest_null_score() -> None:
    unsure, sure = scores(20.0, start3=1, end3=1), scores(0.0, start6=5, end6=5)
    choice = answers.choose(PASSAGE, [(unsure, STARTS, ENDS), (sure, STARTS, ENDS)], SPAN)
    assert (choice.text, choice.null_score) == ("first", 0.0)


def test_n_best_are_distinct_and_in_order() -> None:
    found = answers.candidates(scores(0, start3=5, end3=4, start6=3, end7=2), STARTS, ENDS, SPAN)
    assert len(found) == len(set(found)) == SPAN.n_best
    assert [c.score for c in found] == sorted((c.score for c in found), reverse=True)
