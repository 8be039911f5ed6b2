"""Heads: what is put on an encoder for each kind of task."""

from typing import Any

import torch
from torch import Tensor, nn

from bertxfer.learning import packing
from bertxfer.learning.packing import Packed
from bertxfer.system import seeds
from bertxfer.tasks.kinds import KINDS
from bertxfer.trials.families import family_of
from bertxfer.trials.science import Science


class Pooler(nn.Module):
    """The first token through a dense layer and tanh, as in BERT."""

    def __init__(self, dense: nn.Linear) -> None:
        super().__init__()
        self.dense = dense

    def forward(self, states: Tensor) -> Tensor:
        """`states` are those of first tokens."""
        return torch.tanh(self.dense(states))


class HeadedModel(nn.Module):
    """An encoder, a way to pool its last layer, dropout, and a linear layer.

    Classes and scores are read off the pooled state, the start and end of an answer off every token's.
    """

    def __init__(self, encoder: nn.Module, science: Science, pooler: Pooler | None = None) -> None:
        """`pooler`: that of another task's model on the same encoder."""
        super().__init__()
        self.per_token = KINDS[science.task.kind].per_token
        config: Any = encoder.config
        width, dropout = config.hidden_size, science.model.dropout
        generator = torch.Generator().manual_seed(_stream(science))
        self.classifier = classifier(encoder, science, generator)
        self.pooler: Pooler | None = None
        if science.model.pooling == "cls":
            pretrained: Any = getattr(encoder, "pooler", None) if pooler is None else pooler
            self.pooler = Pooler(_linear(width, width, generator) if pretrained is None else pretrained.dense)
        encoder.pooler = None  # type: ignore[assignment]
        self.encoder = encoder
        # Only packed batches need to know the modules of a layer; padded ones go through the encoder as it is.
        self.layers = packing.layers_of(encoder) if science.training.packed else ()
        self.compiled = science.training.compiled
        if self.compiled:
            packing.forget_compiled()
        pretrained_rate = getattr(config, family_of(config.model_type).dropout_key)
        self.dropout = nn.Dropout(pretrained_rate if dropout is None else dropout)

    def forward(self, batch: Packed | dict[str, Tensor]) -> Tensor:
        """Logits (rows, classes), scores (rows, 1), or the logits of starts and ends (rows, tokens, 2)."""
        if isinstance(batch, Packed):
            firsts_only = self.pooler is not None
            states, mask = packing.encode(self.encoder, self.layers, batch, firsts_only, self.compiled), batch.mask
            firsts, spread = states, batch.padded
        else:
            states, mask = self.encoder(**batch).last_hidden_state, batch["attention_mask"]
            firsts, spread = states[:, 0], _as_it_is
        if self.per_token:
            logits = spread(self.classifier(self.dropout(states)))
            # No answer starts in the padding: otherwise the loss of a row would depend on its neighbours' lengths.
            return logits.masked_fill(mask.unsqueeze(-1) == 0, torch.finfo(logits.dtype).min)
        pooled = _mean(spread(states), mask) if self.pooler is None else self.pooler(firsts)
        outputs: Tensor = self.classifier(self.dropout(pooled))
        return outputs

    @staticmethod
    def name_of(encoder_tensor: str) -> str:
        """What a tensor of the encoder is called in the model."""
        return encoder_tensor if encoder_tensor.startswith("pooler.") else f"encoder.{encoder_tensor}"


def classifier(encoder: nn.Module, science: Science, generator: torch.Generator | None = None) -> nn.Linear:
    """The new layer of a task, the first that is drawn from its stream."""
    config: Any = encoder.config
    generator = generator or torch.Generator().manual_seed(_stream(science))
    return _linear(config.hidden_size, KINDS[science.task.kind].outputs(len(science.task.labels)), generator)


def _stream(science: Science) -> int:
    """Of the seed and the task, and of how often the chain before had that task: the same for the task alone and after
    others, so that they are pairs, but never the one that a stage before was trained with."""
    stages = science.chain.stages if science.chain is not None else ()
    before = sum(stage.task.name == science.task.name for stage in stages)
    return seeds.derive(science.seeds["head"], "head", science.task.name, *([before] if before else []))


def _as_it_is(states: Tensor) -> Tensor:
    return states


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    weights = mask.unsqueeze(-1).to(states.dtype)
    return (states * weights).sum(1) / weights.sum(1)


def _linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A new layer as BERT draws one, from the `head` stream."""
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=0.02, generator=generator)
    nn.init.zeros_(layer.bias)
    return layer
