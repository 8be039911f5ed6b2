"""Opinions: adjectives and verbs of one polarity, or negated ones of the other."""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bertxfer.tasks.mini import agreement
from bertxfer.tasks.mini.lexicon import BE, WORDS, Lexicon, Pair, Written

_NEGATORS = ("not", "never", "hardly")


def _adjective(rng: Random, lex: Lexicon, positive: bool) -> str:
    return rng.choice(lex.good if positive else lex.bad)


def _quality(rng: Random, lex: Lexicon, positive: bool, negated: float) -> str:
    if rng.random() >= negated:
        return _adjective(rng, lex, positive)
    return f"{rng.choice(_NEGATORS)} {_adjective(rng, lex, not positive)}"


def _topic(rng: Random, lex: Lexicon, number: int) -> str:
    return agreement.words(agreement.subject(rng, lex, number, depth=rng.choice((0, 0, 0, 1))))


def _attitude(rng: Random, lex: Lexicon, positive: bool) -> Pair:
    return rng.choice(lex.likes if positive else lex.dislikes)


@dataclass(frozen=True)
class _Style:
    forms: Sequence[str]
    negated: float  # how often a word of the other polarity is used with a negation where either would do


_TRAIN = _Style(["is", "is", "and", "finds", "likes", "says", "although"], 0.5)
_RARE = _Style(["neither", "list", "both", "although"], 0.5)
# With half of the words negated no two words would tend to occur together, and polarity could not be learned.
_REVIEW = _Style(
    [*["is"] * 3, *["and"] * 3, "list", "list", *["finds"] * 3, *["likes"] * 3, "says", "although", "neither", "both"],
    0.2,
)


def _opinion(rng: Random, lex: Lexicon, it: str, them: str, number: int, positive: bool, style: _Style) -> str:
    """A sentence that is for or against its topic, which is `it` as a subject and `them` as an object."""
    negated = style.negated
    be = BE[number]
    name = rng.choice(lex.names)
    match rng.choice(style.forms):
        case "is":
            return f"{it} {be} {_quality(rng, lex, positive, negated)} ."
        case "and":
            return f"{it} {be} {_quality(rng, lex, positive, negated)} and {_quality(rng, lex, positive, negated)} ."
        case "finds":
            if rng.random() >= negated:
                return f"{rng.choice((name, 'everyone'))} finds {them} {_adjective(rng, lex, positive)} ."
            who = rng.choice(("nobody finds", f"{name} never finds", f"{name} does not find"))
            return f"{who} {them} {_adjective(rng, lex, not positive)} ."
        case "likes":
            if rng.random() >= negated:
                return f"{rng.choice((name, 'everyone'))} {_attitude(rng, lex, positive)[0]} {them} ."
            like = _attitude(rng, lex, not positive)
            who = rng.choice((f"nobody {like[0]}", f"{name} never {like[0]}", f"{name} does not {like[1]}"))
            return f"{who} {them} ."
        case "says":
            return f"nobody says that {it} {be} {_quality(rng, lex, not positive, negated)} ."
        case "although":
            other = rng.randrange(2)
            aside = f"although {_topic(rng, lex, other)} {BE[other]} {_quality(rng, lex, not positive, negated)}"
            return f"{aside} , {it} {be} {_quality(rng, lex, positive, negated)} ."
        case "neither":
            pair = f"neither {_adjective(rng, lex, not positive)} nor {_adjective(rng, lex, not positive)}"
            return f"{it} {be} {pair} ."
        case "list":
            first, second = _adjective(rng, lex, positive), _adjective(rng, lex, positive)
            return f"{it} {be} {first} , {second} and {_quality(rng, lex, positive, negated)} ."
        case _:
            first, second = _adjective(rng, lex, not positive), _adjective(rng, lex, not positive)
            return f"{it} {be} {rng.choice(_NEGATORS)} {first} or {second} ."


def sst2(rng: Random, lex: Lexicon, dev: bool) -> Written:
    """An opinion, and whether it is positive."""
    label, number = rng.randrange(2), rng.randrange(2)
    topic = _topic(rng, lex, number)
    text = _opinion(rng, lex, topic, topic, number, bool(label), _RARE if dev and rng.random() < 0.4 else _TRAIN)
    return text, None, label


def review(rng: Random) -> list[str]:
    """One to three opinions of one polarity on one topic, and a verdict."""
    number, positive = rng.randrange(2), rng.random() < 0.5
    topic = _topic(rng, WORDS, number)
    it, them = topic, topic
    sentences = []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        sentences.append(_opinion(rng, WORDS, it, them, number, positive, _REVIEW))
        it, them = ("it", "it") if number == 0 else ("they", "them")
    sentences.append(f"so {it} {BE[number]} {'good' if positive else 'bad'} .")
    if rng.random() < 0.2:
        return [sentences[0], " ".join(sentences[1:])]
    return [" ".join(sentences)]
