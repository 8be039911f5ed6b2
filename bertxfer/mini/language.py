"""A generated language: the mini model's pretraining text and its three tasks, each item a function of its index.

Function words are English, content words are coined ("blicket", "wumbles"). Whole words are tokens, so a model
sees no morphology: it has to learn from use alone which words are plural, which are kind, which belong together.
The dev split of every task is written in content words, and partly in structures, that its training split lacks,
so that only what pretraining taught can carry over.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SIZES: dict[str, dict[str, int]] = {
    task: {"train": 60_000, "dev": 1_000} for task in ("mini_sst2", "mini_qnli", "mini_cola")
}
TASKS = tuple(SIZES)

T = TypeVar("T")
Pair = tuple[str, str]  # singular and plural of a noun; third person and bare form of a verb
Slot = str | Pair  # a word, or the word that agrees and the one that does not

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
class Example:
    """One example of a task."""

    text_a: str
    text_b: str | None
    label: int


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

_ARTICLES: dict[str, Sequence[Pair]] = {
    "neutral": [("the", "the")],
    "marked": [("this", "these"), ("that", "those"), ("every", "many"), ("one", "several")],
}
_BE = ("is", "are")
_REFLEXIVE = ("itself", "themselves")
_PREPOSITIONS = ("near", "behind", "beside", "above")
_NEGATORS = ("not", "never", "hardly")


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


# --- grammar: number agreement of verbs, articles and reflexives with a head noun, across attractors


def _noun(rng: Random, lex: Lexicon, number: int, marked: float = 0.3) -> list[Slot]:
    """Article and noun."""
    noun = rng.choice(lex.nouns)[number]
    if rng.random() < marked:
        return [_agree(rng.choice(_ARTICLES["marked"]), number), noun]
    return ["the", noun]


def _agree(pair: Pair, number: int) -> Pair:
    return pair[number], pair[1 - number]


def _subject(rng: Random, lex: Lexicon, number: int, depth: int) -> list[Slot]:
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
            return [_agree(_BE, number), rng.choice(_PREPOSITIONS), *_noun(rng, lex, rng.randrange(2))]


def _maybe_adverb(rng: Random, lex: Lexicon) -> list[Slot]:
    return [rng.choice(lex.adverbs)] if rng.random() < 0.3 else []


def _clause(rng: Random, lex: Lexicon, depth: int, predicates: int = 1) -> list[Slot]:
    number = rng.randrange(2)
    slots = _subject(rng, lex, number, depth)
    for i in range(predicates):
        slots += (["and"] if i else []) + _predicate(rng, lex, number)
    return [*slots, "."]


def _words(slots: Sequence[Slot], wrong: int | None = None) -> str:
    """The slots as text, with the disagreeing word in the slot numbered `wrong`."""
    return " ".join(slot if isinstance(slot, str) else slot[i == wrong] for i, slot in enumerate(slots))


def _cola(rng: Random, lex: Lexicon, dev: bool) -> Example:
    if dev:
        slots = _clause(rng, lex, depth=rng.choice((1, 2, 2)), predicates=rng.choice((1, 1, 2)))
    else:
        slots = _clause(rng, lex, depth=rng.choice((0, 1, 1)))
    label = rng.randrange(2)
    wrong = None if label else rng.choice([i for i, slot in enumerate(slots) if not isinstance(slot, str)])
    return Example(_words(slots, wrong), None, label)


# --- opinion: adjectives and verbs of one polarity, or negated ones of the other


def _adjective(rng: Random, lex: Lexicon, positive: bool) -> str:
    return rng.choice(lex.good if positive else lex.bad)


def _quality(rng: Random, lex: Lexicon, positive: bool, negated: float) -> str:
    if rng.random() >= negated:
        return _adjective(rng, lex, positive)
    return f"{rng.choice(_NEGATORS)} {_adjective(rng, lex, not positive)}"


def _topic(rng: Random, lex: Lexicon, number: int) -> str:
    return _words(_subject(rng, lex, number, depth=rng.choice((0, 0, 0, 1))))


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
    be = _BE[number]
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
            aside = f"although {_topic(rng, lex, other)} {_BE[other]} {_quality(rng, lex, not positive, negated)}"
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


def _sst2(rng: Random, lex: Lexicon, dev: bool) -> Example:
    label, number = rng.randrange(2), rng.randrange(2)
    topic = _topic(rng, lex, number)
    text = _opinion(rng, lex, topic, topic, number, bool(label), _RARE if dev and rng.random() < 0.4 else _TRAIN)
    return Example(text, None, label)


def _review(rng: Random) -> list[str]:
    """One to three opinions of one polarity on one topic, and a verdict."""
    number, positive = rng.randrange(2), rng.random() < 0.5
    topic = _topic(rng, WORDS, number)
    it, them = topic, topic
    sentences = []
    for _ in range(rng.choice((1, 1, 2, 2, 3))):
        sentences.append(_opinion(rng, WORDS, it, them, number, positive, _REVIEW))
        it, them = ("it", "it") if number == 0 else ("they", "them")
    sentences.append(f"so {it} {_BE[number]} {'good' if positive else 'bad'} .")
    if rng.random() < 0.2:
        return [sentences[0], " ".join(sentences[1:])]
    return [" ".join(sentences)]


# --- question and answer: who does what, or where


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


def _qnli(rng: Random, lex: Lexicon, dev: bool) -> Example:
    label, about_name = rng.randrange(2), rng.random() < 0.5
    fact = _fact(rng, lex, where=rng.random() < 0.5)
    other = _unlike(rng, lex, fact)
    question = fact.question(about_name)
    if rng.random() < 0.25:  # the same words either way: only who does what differs
        if label:
            fact, other = replace(fact, verb=other.verb), replace(other, verb=fact.verb)
        return Example(question, _joined(rng, fact, other), label)
    adverb = rng.choice(lex.adverbs) if dev and rng.random() < 0.4 else ""
    reply = _miss(rng, fact, other, about_name) if label else fact
    return Example(question, f"{reply.statement(adverb)} .", label)


def _dialogue(rng: Random) -> list[str]:
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


def _description(rng: Random) -> list[str]:
    """One or two sentences that agree."""
    depth = rng.choice((0, 1, 1, 2))
    sentences = [_words(_clause(rng, WORDS, depth, predicates=rng.choice((1, 1, 2))))]
    if depth < 2 and rng.random() < 0.5:
        sentences.append(_words(_clause(rng, WORDS, depth=rng.choice((0, 1)))))
        if rng.random() < 0.3:
            return sentences
    return [" ".join(sentences)]


def passage(index: int) -> list[str]:
    """Pretraining text number `index`: one segment, or two that stand apart as a pair."""
    rng = Random(f"passage/{index}")
    draw = rng.random()
    return _review(rng) if draw < 0.35 else _dialogue(rng) if draw < 0.8 else _description(rng)


_WRITERS: dict[str, Callable[[Random, Lexicon, bool], Example]] = {
    "mini_sst2": _sst2,
    "mini_qnli": _qnli,
    "mini_cola": _cola,
}


def example(task: str, split: str, index: int) -> Example:
    """Example number `index` of a task's split.

    Labels: mini_sst2 1 = positive, mini_qnli 0 = the sentence answers the question, mini_cola 1 = acceptable.
    """
    if not 0 <= index < SIZES[task][split]:
        raise IndexError(f"{task} has {SIZES[task][split]} {split} examples, there is no number {index}")
    return _WRITERS[task](Random(f"{task}/{split}/{index}"), LEXICONS[split], split == "dev")
