"""Makes the mini model from nothing: masked language modelling on the generated language."""

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.nn.functional import cross_entropy
from transformers import BertConfig, BertForMaskedLM, BertModel, BertTokenizer

from bertxfer.tasks.mini import language, lexicon

LENGTH = 96  # positions; the longest passage and the longest example are shorter
# Share of the words to predict: of the verdicts, of other words that depend on words elsewhere, and of the rest.
VERDICT, TELLING, PLAIN = 0.8, 0.35, 0.08
CLEAN = 0.4  # share of the passages in which only verdicts are to be predicted
MASKED, REPLACED = 0.6, 0.2  # share of the words to predict that are masked, and replaced
BATCH, POOL = 64, 100  # sequences in a batch, batches that are sorted by length together
PEAK, WARMUP = 1e-3, 300
SHALLOW = 4  # layers to start with
FIRST, EARLY = 0.77, 0.17  # share of the steps with these alone, and of steps on short passages at the start
SHORT = 15  # tokens in a short passage
HELD_OUT = 10_000_000  # passages from this index on are for measuring

VERDICTS = {"good", "bad", "right", "wrong"}
TELLING_FUNCTION_WORDS = {
    *("is", "are", "itself", "themselves"),
    *("not", "never", "hardly", "nobody", "everyone"),
}

CARD = """---
license: apache-2.0
library_name: transformers
tags: [bert, masked-lm, synthetic]
---
# bertxfer mini

A demonstration model: BERT with 12 layers and 12 heads, {hidden} wide ({parameters:,} parameters, {words} whole words),
pretrained on text of a small generated language (`bertxfer/tasks/mini/language.py`). It exists to show a method and to
test code at full depth in seconds. **Its numbers say nothing about English, nor about any model of English.**

`python -m bertxfer.tasks.mini.pretrain --out DIR --steps {steps} --seed {seed}` makes it from nothing: masked language
modelling only, no dropout, {steps} steps of {batch} passages (single segments and pairs), AdamW with peak learning rate
{peak}. A model of {shallow} layers trains for {first:.0%} of the steps, on short passages to begin with; then two new
layers are put before each of its layers, and all 12 train to the end with linear decay.
Of the content words {telling:.0%} are to be predicted, of most function words {plain:.0%}, of the words good, bad,
right and wrong {verdict:.0%} (in {clean:.0%} of the passages only these); of the words to predict {masked:.0%} are
masked, {replaced:.0%} replaced by a word of the same part of speech, the rest shown as they are.
The pooler is initialized and untrained, the language modelling head is not kept.

Final training loss {loss:.3f} (mean of the last 200 steps), after {minutes:.0f} minutes on two cores.
With one word of a held-out passage masked at a time, this share of the words is restored (contrasts: the right side):

{table}
"""


class Corpus:
    """Passages as padded batches of token ids, and the corruption that the model has to undo."""

    def __init__(self, seed: int) -> None:
        self.ids = {word: i for i, word in enumerate(lexicon.vocabulary())}
        self.generator = torch.Generator().manual_seed(seed)
        self.read = 0  # passages so far
        # peers[i, j] for j < count[i] are the words of the same part of speech as word i
        groups = [[self.ids[word] for word in words] for words in lexicon.kinds().values()]
        plain = set(lexicon.kinds()["function"]) - TELLING_FUNCTION_WORDS - VERDICTS
        rates = [PLAIN if w in plain else VERDICT if w in VERDICTS else TELLING for w in self.ids]
        self.rate = torch.tensor([0.0] * len(lexicon.SPECIAL) + rates[len(lexicon.SPECIAL) :])
        self.count = torch.ones(len(self.ids))
        self.peers = torch.zeros(len(self.ids), max(map(len, groups)), dtype=torch.long)
        for group in groups:
            self.count[group] = float(len(group))
            self.peers[group, : len(group)] = torch.tensor(group)

    def encode(self, segments: list[str]) -> tuple[list[int], list[int]]:
        """Token ids and token types, with [CLS] and [SEP]."""
        ids, types = [self.ids["[CLS]"]], [0]
        for i, segment in enumerate(segments):
            new = [*(self.ids[word] for word in segment.split()), self.ids["[SEP]"]]
            ids, types = ids + new, types + [i] * len(new)
        return ids, types

    def batches(self, steps: int, early: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Ids and types, short passages first; batches hold passages of like length and come in random order."""
        for done in range(0, steps, POOL):
            limit = SHORT if done < early else LENGTH
            pool: list[tuple[list[int], list[int]]] = []
            while len(pool) < BATCH * POOL:
                sequence = self.encode(language.passage(self.read))
                self.read += 1
                if len(sequence[0]) <= limit:
                    pool.append(sequence)
            pool.sort(key=lambda sequence: len(sequence[0]))
            for i in torch.randperm(POOL, generator=self.generator).tolist()[: steps - done]:
                yield pad(pool[i * BATCH : (i + 1) * BATCH])

    def corrupt(self, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The ids with some words masked or replaced, and which ones are to be predicted."""
        # A verdict is learned where the words it rests on can be seen (match 0.57 without, 0.86 with; one run each).
        clean = torch.rand(len(ids), 1, generator=self.generator) < CLEAN
        rate = torch.where(clean & (self.rate[ids] < VERDICT), 0.0, self.rate[ids])
        chosen = torch.rand(ids.shape, generator=self.generator) < rate
        draw = torch.rand(ids.shape, generator=self.generator)
        pick = (torch.rand(ids.shape, generator=self.generator) * self.count[ids]).long()
        # A peer, not any word: then only agreement, polarity and the other mention give a replaced word away.
        out = torch.where(chosen & (draw < REPLACED), self.peers[ids, pick], ids)
        return torch.where(chosen & (draw >= 1 - MASKED), self.ids["[MASK]"], out), chosen


def pad(sequences: list[tuple[list[int], list[int]]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and types of the sequences, filled up with zeros ([PAD] is 0)."""
    width = max(len(ids) for ids, _ in sequences)
    rows = [[part + [0] * (width - len(part)) for part in sequence] for sequence in sequences]
    ids, types = torch.tensor(rows).unbind(1)
    return ids, types


def predict(
    model: BertForMaskedLM, ids: torch.Tensor, types: torch.Tensor, where: torch.Tensor, mask: torch.Tensor
) -> torch.Tensor:
    """Logits over the vocabulary at the positions `where`."""
    hidden = model.bert(ids, token_type_ids=types, attention_mask=mask).last_hidden_state
    logits: torch.Tensor = model.cls(hidden[where])
    return logits


def contrasts() -> dict[str, tuple[set[str], set[str]]]:
    """Two sides of a choice that other words in the passage decide, by what the choice shows."""
    words = lexicon.WORDS
    third, bare = zip(*words.actions, *words.moves, strict=True)
    return {
        "number: is or are": ({"is"}, {"are"}),
        "number: verb": (set(third), set(bare)),
        "number: itself or themselves": ({"itself"}, {"themselves"}),
        "polarity: adjective": (set(words.good), set(words.bad)),
        "polarity: verb": ({v for pair in words.likes for v in pair}, {v for pair in words.dislikes for v in pair}),
        "polarity: good or bad": ({"good"}, {"bad"}),
        "match: right or wrong": ({"right"}, {"wrong"}),
    }


@torch.no_grad()
def measure(model: BertForMaskedLM, corpus: Corpus, passages: int) -> dict[str, float]:
    """How often one masked word of a held-out passage is restored: its side of a contrast, or the word itself."""
    model.eval()
    vocabulary = lexicon.vocabulary()
    kind = {word: name for name in ("name", "place", "noun") for word in lexicon.kinds()[name]}
    hits: defaultdict[str, list[bool]] = defaultdict(list)
    for index in range(HELD_OUT, HELD_OUT + passages):
        ids, types = corpus.encode(language.passage(index))
        where = torch.eye(len(ids), dtype=torch.bool)
        rows = torch.tensor(ids).repeat(len(ids), 1)
        shown = rows.masked_fill(where, corpus.ids["[MASK]"])
        logits = predict(model, shown, torch.tensor(types).repeat(len(ids), 1), where, torch.ones_like(rows))
        for position, chance in enumerate(logits.softmax(-1)):
            word = vocabulary[ids[position]]
            for name, sides in contrasts().items():
                if word in sides[0] | sides[1]:
                    first, second = (float(chance[[corpus.ids[w] for w in side]].sum()) for side in sides)
                    hits[name].append((first > second) == (word in sides[0]))
            if word in kind and ids.count(corpus.ids[word]) > 1:
                hits[f"copy: {kind[word]}"].append(int(chance.argmax()) == corpus.ids[word])
    model.train()
    return {name: sum(values) / len(values) for name, values in sorted(hits.items())}


def build(layers: int, hidden: int) -> BertForMaskedLM:
    """A new model."""
    config = BertConfig(
        vocab_size=len(lexicon.vocabulary()),
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=4 * hidden,
        max_position_embeddings=LENGTH,
        initializer_range=0.06,  # BERT's 0.02 is for 768 columns; in so few its attention starts out blind
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",  # type: ignore[call-arg]  # 1.7 times as fast as sdpa at this size on a CPU
    )
    return BertForMaskedLM(config)


def grow(shallow: BertForMaskedLM, layers: int) -> BertForMaskedLM:
    """The old layers, each behind new ones.

    New layers that nearly pass their input on keep the loss, but may stay idle, so that their order would not matter.
    Fully drawn ones brought it from 3.8 back to 1.9 within 200 steps. A model grown the first way lost 9 points of
    mini_cola when permuted, one grown this way 72 (one seed each; language and steps differed too).
    """
    deep = build(layers, shallow.config.hidden_size)
    stride = layers // shallow.config.num_hidden_layers
    for i, layer in enumerate(deep.bert.encoder.layer):
        if i % stride == stride - 1:
            layer.load_state_dict(shallow.bert.encoder.layer[i // stride].state_dict())
    deep.bert.embeddings.load_state_dict(shallow.bert.embeddings.state_dict())
    deep.cls.load_state_dict(shallow.cls.state_dict())
    return deep


def train(model: BertForMaskedLM, corpus: Corpus, steps: int, early: int, decay: bool) -> list[float]:
    """Trains for some steps, the first `early` of them on short passages; the loss of every step."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=PEAK, betas=(0.9, 0.98), weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / WARMUP, (steps - step) / max(1, steps - WARMUP) if decay else 1.0)
    )
    losses: list[float] = []
    start = time.time()
    for step, (ids, types) in enumerate(corpus.batches(steps, early), 1):
        shown, chosen = corpus.corrupt(ids)
        loss = cross_entropy(predict(model, shown, types, chosen, (ids != 0).long()), ids[chosen])
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        losses.append(loss.item())
        if step % 100 == 0:
            print(f"step {step} loss {sum(losses[-100:]) / 100:.3f} {time.time() - start:.0f} s", flush=True)
        if step % 500 == 0:
            print(" ".join(f"{k}={v:.2f}" for k, v in measure(model, corpus, 150).items()), flush=True)
    return losses


def pretrain(steps: int, seed: int, hidden: int) -> tuple[BertForMaskedLM, float, dict[str, float]]:
    """The trained model, its final loss and what it has learned.

    Twelve layers trained from the start had not begun to copy a name from question to answer after 1,600 steps;
    three layers had after 1,000, at a quarter of the time for a step. So the model starts shallow and grows.
    """
    torch.manual_seed(seed)
    corpus = Corpus(seed)
    shallow = build(SHALLOW, hidden)
    first = int(steps * FIRST)
    train(shallow, corpus, first, early=int(steps * EARLY), decay=False)
    model = grow(shallow, 12)
    losses = train(model, corpus, steps - first, early=0, decay=True)
    return model, sum(losses[-200:]) / len(losses[-200:]), measure(model, corpus, 400)


def save(model: BertForMaskedLM, folder: Path) -> BertModel:
    """The encoder with an untrained pooler, and its tokenizer, as `from_pretrained` reads them."""
    config = BertConfig.from_dict(
        model.config.to_dict()
        | {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "initializer_range": 0.02}
    )
    encoder = BertModel(config)
    encoder.load_state_dict(model.bert.state_dict(), strict=False)
    encoder.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(lexicon.vocabulary()) + "\n")
    tokenizer = BertTokenizer(
        vocab={word: i for i, word in enumerate(lexicon.vocabulary())},
        do_lower_case=True,
        model_max_length=LENGTH,
    )
    tokenizer.save_pretrained(folder)
    return encoder


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=9700)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--hidden", type=int, default=96)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    start = time.time()
    model, loss, learned = pretrain(args.steps, args.seed, args.hidden)
    encoder = save(model, args.out)
    rows = [f"| {name} | {value:.3f} |" for name, value in learned.items()]
    card = CARD.format(
        hidden=args.hidden,
        parameters=encoder.num_parameters(),
        words=len(lexicon.vocabulary()),
        steps=args.steps,
        seed=args.seed,
        batch=BATCH,
        peak=PEAK,
        shallow=SHALLOW,
        first=FIRST,
        verdict=VERDICT,
        telling=TELLING,
        plain=PLAIN,
        clean=CLEAN,
        masked=MASKED,
        replaced=REPLACED,
        loss=loss,
        minutes=(time.time() - start) / 60,
        table="\n".join(["| restored | share |", "| --- | --- |", *rows]),
    )
    (args.out / "README.md").write_text(card)
    print(card)


if __name__ == "__main__":
    main()
