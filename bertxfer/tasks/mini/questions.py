"""Questions and answers: who does what, or where."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from bertxfer.tasks.mini.lexicon import WORDS, Lexicon, Pair, T, Written


@dataclass(frozen=True)
class _Fact:
    name: str
    verb: Pair
    tail: str  # what is acted on, or where
    where: bool

    def statement(self, adverb: str = "") -> str:
        return " ".join(filter(None, (self.name, adverb, self.verb[0], self.tail)))

    def question(self, about_name: bool) -> str:
        if about_name:
            return f"who {self.verb[0]} {self.tail} ?"
        return f"{'where' if self.where else 'what'} does {self.name} {self.verb[1]} ?"


def _other(rng: Random, words: Sequence[T], word: T) -> T:
    while (other := rng.choice(words)) == word:
        pass
    return other


def _tail(rng: Random, lex: Lexicon, where: bool) -> str:
    return f"in {rng.choice(lex.places)}" if where else f"the {rng.choice(lex.nouns)[rng.randrange(2)]}"


def _fact(rng: Random, lex: Lexicon, where: bool) -> _Fact:
    verb = rng.choice(lex.moves if where else lex.actions)
    return _Fact(rng.choice(lex.names), verb, _tail(rng, lex, where), where)


def _unlike(rng: Random, lex: Lexicon, fact: _Fact) -> _Fact:
    """A fact of the same form that shares no word."""
    verb = _other(rng, lex.moves if fact.where else lex.actions, fact.verb)
    tail = fact.tail
    while tail == fact.tail:
        tail = _tail(rng, lex, fact.where)
    return _Fact(_other(rng, lex.names, fact.name), verb, tail, fact.where)


def _joined(rng: Random, first: _Fact, second: _Fact) -> str:
    pair = [first.statement(), second.statement()]
    rng.shuffle(pair)
    return f"{pair[0]} and {pair[1]} ."


def _miss(rng: Random, fact: _Fact, other: _Fact, about_name: bool) -> _Fact:
    """The fact with one word changed that its question asks with."""
    if rng.random() < 0.5:
        return replace(fact, verb=other.verb)
    return replace(fact, tail=other.tail) if about_name else replace(fact, name=other.name)


def qnli(rng: Random, lex: Lexicon, dev: bool) -> Written:
    """A question and a sentence, and whether that does not answer it."""
    label, about_name = rng.randrange(2), rng.random() < 0.5
    fact = _fact(rng, lex, where=rng.random() < 0.5)
    other = _unlike(rng, lex, fact)
    question = fact.question(about_name)
    if rng.random() < 0.25:  # the same words either way: only who does what differs
        if label:
            fact, other = replace(fact, verb=other.verb), replace(other, verb=fact.verb)
        return question, _joined(rng, fact, other), label
    adverb = rng.choice(lex.adverbs) if dev and rng.random() < 0.4 else ""
    reply = _miss(rng, fact, other, about_name) if label else fact
    return question, f"{reply.statement(adverb)} .", label


def dialogue(rng: Random) -> list[str]:
    """A question and its answer, or a reply and whether it is one."""
    fact = _fact(rng, WORDS, where=rng.random() < 0.5)
    about_name = rng.random() < 0.5
    question = fact.question(about_name)
    adverb = rng.choice(WORDS.adverbs) if rng.random() < 0.2 else ""
    answer = f"{fact.statement(adverb)} ."
    other = _unlike(rng, WORDS, fact)
    match rng.randrange(10):
        case 0:
            return [question, answer]
        case 1 | 2 | 3 | 4 | 5:
            if rng.random() < 0.5:
                return [question, f"{answer} right ."]
            # A reply that shares no word is where telling right from wrong starts to be learned.
            reply = other if rng.random() < 0.5 else _miss(rng, fact, other, about_name)
            return [question, f"{reply.statement(adverb)} . wrong ."]
        case 6:
            if rng.random() < 0.5:
                return [question, f"{_joined(rng, fact, other)} right ."]
            fact, other = replace(fact, verb=other.verb), replace(other, verb=fact.verb)
            return [question, f"{_joined(rng, fact, other)} wrong ."]
        case 7:
            return [_joined(rng, fact, other), f"{question} {answer}"]
        case 8:
            near = rng.choice((replace(other, name=fact.name), replace(other, verb=fact.verb)))
            return [f"{_joined(rng, fact, near)} {question} {answer}"]
        case _:
            second = other.question(rng.random() < 0.5)
            return [f"{question} {answer} {second} {other.statement()} ."]
