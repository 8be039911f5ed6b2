"""Packed batches: sequences laid end to end, so that no layer computes padding, and attention stays inside each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from bertxfer.trials.families import Family, family_of


@dataclass(frozen=True)
class Packed:
    """The tokens of a batch in one row, and where each would be if the sequences were padded to the longest."""

    input_ids: Tensor  # (tokens,)
    token_type_ids: Tensor | None
    position_ids: Tensor  # starts again with every sequence
    slots: Tensor  # (tokens,): the slot of each token among sequences x longest
    tokens: Tensor  # (sequences x longest,): the token in each slot; in padding some token, which the mask hides
    mask: Tensor  # (sequences, longest): 1 for a token, 0 for padding
    firsts: Tensor  # (sequences,): the token that each begins with

    def padded(self, states: Tensor) -> Tensor:
        """(tokens, ...) as (sequences, longest, ...). What stands in padding means nothing."""
        return states.index_select(0, self.tokens).unflatten(0, self.mask.shape)

    def moved(self, move: Callable[[Tensor], Tensor]) -> "Packed":
        return Packed(**{name: None if t is None else move(t) for name, t in vars(self).items()})  # type: ignore[arg-type]


def pack(input_ids: Sequence[list[int]], token_type_ids: Sequence[list[int]] | None) -> Packed:
    lengths = torch.tensor([len(ids) for ids in input_ids])
    total, longest = int(lengths.sum()), int(lengths.max())
    firsts = lengths.cumsum(0) - lengths
    position_ids = torch.arange(total) - firsts.repeat_interleave(lengths)
    slots = position_ids + longest * torch.arange(len(input_ids)).repeat_interleave(lengths)
    tokens = torch.zeros(len(input_ids) * longest, dtype=torch.long)
    tokens[slots] = torch.arange(total)
    mask = (torch.arange(longest) < lengths[:, None]).long()
    types = None if token_type_ids is None else _flat(token_type_ids)
    return Packed(_flat(input_ids), types, position_ids, slots, tokens, mask, firsts)


def _flat(sequences: Sequence[list[int]]) -> Tensor:
    return torch.tensor([value for sequence in sequences for value in sequence])


class Layer(NamedTuple):
    """A Hugging Face layer's own modules, by what they do."""

    query: nn.Module
    key: nn.Module
    value: nn.Module
    output: nn.Module
    attention_norm: nn.Module
    intermediate: nn.Module
    feedforward: nn.Module
    norm: nn.Module
    activation: nn.Module
    attention_dropout: nn.Module
    output_dropout: nn.Module | None
    dropout: nn.Module


def layers_of(encoder: nn.Module) -> tuple[Layer, ...]:
    """Looked up once: finding a module by name takes longer than calling it on a small batch."""
    family = family_of(_config(encoder).model_type)
    return tuple(_layer(layer, family) for layer in encoder.get_submodule(family.layers).children())


def _layer(layer: nn.Module, family: Family) -> Layer:
    names = (*family.projections, family.output, *family.rest, family.activation, *family.dropouts)
    return Layer(*(None if name is None else layer.get_submodule(name) for name in names))  # type: ignore[arg-type]


def encode(
    encoder: nn.Module, layers: tuple[Layer, ...], batch: Packed, firsts_only: bool = False, compiled: bool = False
) -> Tensor:
    """The states (tokens, width) after the last layer: what the encoder's own forward computes from padded rows.

    Its modules and weights are used, in the order in which it uses them; only the rows are laid out otherwise.
    Where nothing but first tokens is read, the last layer computes no others: (sequences, width).
    """
    config = _config(encoder)
    family = family_of(config.model_type)
    parts: Any = encoder
    inputs = {"input_ids": batch.input_ids[None], "position_ids": batch.position_ids[None]}
    if family.positions_after_padding:
        inputs["position_ids"] = inputs["position_ids"] + parts.embeddings.padding_idx + 1
    if family.embeds_token_types:
        types = torch.zeros_like(batch.input_ids) if batch.token_type_ids is None else batch.token_type_ids
        inputs["token_type_ids"] = types[None]
    states: Tensor = parts.embeddings(**inputs).squeeze(0)
    if hasattr(parts, "embeddings_project"):
        states = parts.embeddings_project(states)
    bias = torch.zeros(batch.mask.shape, device=states.device).masked_fill_(batch.mask == 0, -torch.inf)
    bias = bias[:, None, None, :].expand(-1, config.num_attention_heads, -1, -1)
    through = _compiled() if compiled else _through
    for layer in layers[:-1]:
        states = through(layer, states, states, batch, bias)
    read = states.index_select(0, batch.firsts) if firsts_only else states
    return through(layers[-1], states, read, batch, bias)


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., Tensor]:
    """The same code for all layers and lengths, in variants for training, evaluation, first tokens and short rows.
    A variant that can no longer be compiled is an error: torch would run it as it is, with other dropout masks."""
    return torch.compile(_through, dynamic=True)


def forget_compiled() -> None:
    """Which variants are compiled depends on the trials before, and a trial must not: each compiles its own."""
    import torch._dynamo

    torch._dynamo.reset()
    torch._dynamo.config.recompile_limit = 64
    torch._dynamo.config.fail_on_recompile_limit_hit = True


def _through(layer: Layer, states: Tensor, read: Tensor, batch: Packed, bias: Tensor) -> Tensor:
    """The states of one layer at all tokens, or only at the first of each sequence if `read` has no others."""
    attended = layer.output(_attend(layer, states, read, batch, bias))
    if layer.output_dropout is not None:
        attended = layer.output_dropout(attended)
    attended = layer.attention_norm(attended + read)
    inner = layer.activation(layer.intermediate(attended))
    out: Tensor = layer.norm(layer.dropout(layer.feedforward(inner)) + attended)
    return out


def _attend(layer: Layer, states: Tensor, read: Tensor, batch: Packed, bias: Tensor) -> Tensor:
    """For every token of `read` the mixture of the values of its own sequence."""
    rows, heads = bias.shape[:2]
    if read is states:
        query, key, value = _projected(states, (layer.query, layer.key, layer.value), batch, heads)
    else:
        query = layer.query(read).view(rows, heads, 1, -1)
        key, value = _projected(states, (layer.key, layer.value), batch, heads)
    mixed = _mixture(query, key, value, bias.to(query.dtype), layer.attention_dropout)
    mixed = mixed.transpose(1, 2).flatten(2).flatten(0, 1)
    return mixed.index_select(0, batch.slots) if read is states else mixed


def _projected(states: Tensor, projections: Sequence[Any], batch: Packed, heads: int) -> Sequence[Tensor]:
    """Each projection of the states as (sequences, heads, tokens, width of a head). One product computes all: with
    the mini model's width of 96 it does a third more a second than three."""
    weight = torch.cat([projection.weight for projection in projections])
    bias = torch.cat([projection.bias for projection in projections])
    spread = batch.padded(nn.functional.linear(states, weight, bias))
    return spread.unflatten(-1, (len(projections), heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)


def _mixture(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, dropout: nn.Module) -> Tensor:
    """Attention over (sequences, heads, tokens, width). On the CPU with dropout torch's own kernel is this, with more
    checks around it: 17 to 23% slower on the mini model."""
    if query.device.type != "cpu":
        return _kernel(query, key, value, bias, dropout)
    together = (query.flatten(0, 1), key.flatten(0, 1).transpose(1, 2))
    hidden = bias.flatten(0, 1).expand(-1, query.shape[2], -1)
    scores = torch.baddbmm(hidden, *together, alpha=query.shape[-1] ** -0.5)
    return torch.bmm(dropout(_softmax(scores)), value.flatten(0, 1)).unflatten(0, query.shape[:2])


def _kernel(query: Tensor, key: Tensor, value: Tensor, bias: Tensor, dropout: nn.Module) -> Tensor:
    rate = float(dropout.p) if dropout.training else 0.0  # type: ignore[arg-type]
    mask = bias.expand(-1, -1, query.shape[2], -1)
    return nn.functional.scaled_dot_product_attention(query, key, value, mask, dropout_p=rate)


def _softmax(scores: Tensor) -> Tensor:
    """Over the last dimension, made at least 16 wide: on shorter rows than a vector register's 16 floats torch's CPU
    kernel takes 17 ns a value instead of 1.3, which was a third of an evaluation of the mini model."""
    longest = scores.shape[-1]
    if longest >= 16:
        return scores.softmax(-1)
    return nn.functional.pad(scores, (0, 16 - longest), value=-torch.inf).softmax(-1)[..., :longest]


def _config(encoder: nn.Module) -> Any:
    return encoder.config
