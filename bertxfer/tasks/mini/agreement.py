"""Agreement: verbs, articles and reflexives have the number of a head noun, whatever nouns stand between."""

from collections.abc import Sequence
from random import Random

from bertxfer.tasks.mini.lexicon import BE, WORDS, Lexicon, Pair, Written

Slot = str | Pair  # a word, or the word that agrees and the one that does not

_ARTICLES: Sequence[Pair] = (("this", "these"), ("that", "those"), ("every", "many"), ("one", "several"))
_REFLEXIVE = ("itself", "themselves")
_PREPOSITIONS = ("near", "behind", "beside", "above")


def _noun(rng: Random, lex: Lexicon, number: int, marked: float = 0.3) -> list[Slot]:
    """Article and noun."""
    noun = rng.choice(lex.nouns)[number]
    if rng.random() < marked:
        return [_agree(rng.choice(_ARTICLES), number), noun]
    return ["the", noun]


def _agree(pair: Pair, number: int) -> Pair:
    return pair[number], pair[1 - number]


def subject(rng: Random, lex: Lexicon, number: int, depth: int) -> list[Slot]:
    """A noun phrase with `depth` phrases between its head and the verb; their nouns are of any number."""
    phrase = _noun(rng, lex, number)
    for i in range(depth):
        other = rng.randrange(2)
        form = rng.random()
        if i or form < 0.5:
            phrase += [rng.choice(_PREPOSITIONS), *_noun(rng, lex, other)]
        elif form < 0.75:
            phrase += ["that", _agree(rng.choice(lex.actions), number), *_noun(rng, lex, other)]
        else:
            phrase += ["that", *_noun(rng, lex, other), _agree(rng.choice(lex.actions), other)]
    return phrase


def _predicate(rng: Random, lex: Lexicon, number: int) -> list[Slot]:
    match rng.randrange(4):
        case 0:
            return [_agree(rng.choice(lex.moves), number), *_maybe_adverb(rng, lex)]
        case 1:
            return [_agree(rng.choice(lex.actions), number), *_noun(rng, lex, rng.randrange(2))]
        case 2:
            verb = _agree(rng.choice(lex.actions), number)
            return [verb, _agree(_REFLEXIVE, number), *_maybe_adverb(rng, lex)]
        case _:
            return [_agree(BE, number), rng.choice(_PREPOSITIONS), *_noun(rng, lex, rng.randrange(2))]


def _maybe_adverb(rng: Random, lex: Lexicon) -> list[Slot]:
    return [rng.choice(lex.adverbs)] if rng.random() < 0.3 else []


def clause(rng: Random, lex: Lexicon, depth: int, predicates: int = 1) -> list[Slot]:
    """A sentence in which all agrees."""
    number = rng.randrange(2)
    slots = subject(rng, lex, number, depth)
    for i in range(predicates):
        slots += (["and"] if i else []) + _predicate(rng, lex, number)
    return [*slots, "."]


def words(slots: Sequence[Slot], wrong: int | None = None) -> str:
    """The slots as text, with the disagreeing word in the slot numbered `wrong`."""
    return " ".join(slot if isinstance(slot, str) else slot[i == wrong] for i, slot in enumerate(slots))


def cola(rng: Random, lex: Lexicon, dev: bool) -> Written:
    """A sentence, and whether all in it agrees."""
    if dev:
        slots = clause(rng, lex, depth=rng.choice((1, 2, 2)), predicates=rng.choice((1, 1, 2)))
    else:
        slots = clause(rng, lex, depth=rng.choice((0, 1, 1)))
    label = rng.randrange(2)
    wrong = None if label else rng.choice([i for i, slot in enumerate(slots) if not isinstance(slot, str)])
    return words(slots, wrong), None, label


def description(rng: Random) -> list[str]:
    """One or two sentences that agree."""
    depth = rng.choice((0, 1, 1, 2))
    sentences = [words(clause(rng, WORDS, depth, predicates=rng.choice((1, 1, 2))))]
    if depth < 2 and rng.random() < 0.5:
        sentences.append(words(clause(rng, WORDS, depth=rng.choice((0, 1)))))
        if rng.random() < 0.3:
            return sentences
    return [" ".join(sentences)]
