"""The words of the generated language: English function words, and content words that are coined."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
BE = ("is", "are")

T = TypeVar("T")
Pair = tuple[str, str]  # singular and plural of a noun; third person and bare form of a verb
Written = tuple[str, str | None, int]  # an example of a task: one text or two, and the label

_FUNCTION = (
    "the this these that those every many one several is are itself themselves near behind beside above not never "
    "hardly and or neither nor nobody everyone it they them finds find says does although who what where in so "
    "good bad right wrong . , ?"
)
_ONSETS = "b bl br d dr f fl fr g gl gr h k kl kr l m n p pl pr r sk sl sn st t tr v w y z"
_MIDDLES = "b d f g k l m n p r t v z bb ck dd lm lp mb mp nd ng nk nt rb rd rk rm rp sk st"
# What the syllables would make, and should not.
_ENGLISH = {"fagel", "heby", "humbly", "kinda", "limbo", "middle", "muckish", "nader", "potent", "render"}


@dataclass(frozen=True)
class Lexicon:
    """The content words one may write with."""

    names: Sequence[str]
    places: Sequence[str]
    nouns: Sequence[Pair]
    actions: Sequence[Pair]  # transitive verbs
    moves: Sequence[Pair]  # intransitive verbs
    likes: Sequence[Pair]  # verbs of approval
    dislikes: Sequence[Pair]
    good: Sequence[str]
    bad: Sequence[str]
    adverbs: Sequence[str]


def _coin(endings: str, count: int, taken: set[str]) -> list[str]:
    """New two-syllable words with these endings."""
    rng = Random(f"coin/{endings}")
    words: list[str] = []
    while len(words) < count:
        word = "".join(map(rng.choice, (_ONSETS.split(), "aeiou", _MIDDLES.split(), endings.split())))
        if word not in taken:
            taken |= {word, word + "s"}
            words.append(word)
    return words


def _lexicon() -> Lexicon:
    taken = {*_FUNCTION.split(), *_ENGLISH}

    def verbs(endings: str, count: int) -> list[Pair]:
        return [(word + "s", word) for word in _coin(endings, count, taken)]

    return Lexicon(
        names=_coin("a o i", 48, taken),
        places=_coin("ia ona", 32, taken),
        nouns=[(word, word + "s") for word in _coin("et er op un ock", 60, taken)],
        actions=verbs("le", 28),
        moves=verbs("ow", 20),
        likes=verbs("el", 16),
        dislikes=verbs("ol", 16),
        good=_coin("y ish", 40, taken),
        bad=_coin("ous ent", 40, taken),
        adverbs=_coin("ly", 16, taken),
    )


def _share(lexicon: Lexicon, dev: bool) -> Lexicon:
    """The first two thirds of every word class, or the rest."""

    def cut(words: Sequence[T]) -> Sequence[T]:
        edge = len(words) * 2 // 3
        return words[edge:] if dev else words[:edge]

    return Lexicon(**{field: cut(words) for field, words in vars(lexicon).items()})


WORDS = _lexicon()
LEXICONS = {"train": _share(WORDS, dev=False), "dev": _share(WORDS, dev=True)}


def kinds() -> dict[str, list[str]]:
    """The vocabulary by part of speech, in the order of the vocabulary."""

    def forms(*groups: Sequence[Pair]) -> list[str]:
        return [form for group in groups for pair in group for form in pair]

    return {
        "function": _FUNCTION.split(),
        "name": list(WORDS.names),
        "place": list(WORDS.places),
        "noun": forms(WORDS.nouns),
        "verb": forms(WORDS.actions, WORDS.moves),
        "attitude": forms(WORDS.likes, WORDS.dislikes),
        "adjective": [*WORDS.good, *WORDS.bad],
        "adverb": list(WORDS.adverbs),
    }


def vocabulary() -> list[str]:
    """Every token, special tokens first."""
    return SPECIAL + [word for words in kinds().values() for word in words]
