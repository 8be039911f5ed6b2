"""Kept models as transformers alone has them, evaluated padded: what analyses are compared with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from transformers import (
    AutoModel,
    AutoModelForQuestionAnswering,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)

from bertxfer.tasks import source_of
from bertxfer.trials.trial import Trial


class Plain(nn.Module):
    """A kept model, with its encoder by the names that transformers has for it."""

    def __init__(self, folder: Path, kind: str = "classification") -> None:
        super().__init__()
        self.mean = (folder / "head.safetensors").exists()
        if self.mean:
            self.encoder: Any = AutoModel.from_pretrained(folder)
            head = load_file(folder / "head.safetensors")
            self.weight, self.bias = (nn.Parameter(head[f"classifier.{name}"]) for name in ("weight", "bias"))
        else:
            auto = AutoModelForQuestionAnswering if kind == "span" else AutoModelForSequenceClassification
            self.whole: Any = auto.from_pretrained(folder)
            self.encoder = self.whole.base_model
        self.eval()

    def forward(self, batch: Mapping[str, Tensor]) -> Tensor:
        if not self.mean:
            logits: Tensor = self.whole(**batch).logits
            return logits
        states = self.encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        return (states * mask).sum(1) / mask.sum(1) @ self.weight.T + self.bias


def dev_batch(one: Trial) -> tuple[dict[str, Tensor], list[Any]]:
    """All dev texts of a trial in one padded batch, and their labels."""
    source = source_of(one.science.task, one.data_at)
    rows = source.rows("dev", list(range(source.size("dev")))[: one.science.data.dev_n])
    tokenizer = AutoTokenizer.from_pretrained(one.model_at)
    texts = [list(column) for column in zip(*rows.texts, strict=True)]
    batch = tokenizer(*texts, padding=True, return_tensors="pt")
    if one.science.model.family in ("roberta", "distilbert"):
        batch.pop("token_type_ids")
    return dict(batch), rows.labels


def achieved(model: nn.Module, batch: Mapping[str, Tensor], labels: list[Any]) -> tuple[float, float]:
    """The mean loss and the accuracy, or for scores the mean squared error and Pearson's correlation."""
    with torch.no_grad():
        logits = model(batch).double()
    if logits.shape[1] == 1:
        scores, wanted = logits[:, 0], torch.tensor(labels, dtype=torch.float64)
        together = torch.corrcoef(torch.stack([scores, wanted]))[0, 1]
        return float((scores - wanted).square().mean()), float(together)
    wanted = torch.tensor(labels)
    chances = logits.softmax(1)[torch.arange(len(wanted)), wanted]
    return float(-chances.log().mean()), float((logits.argmax(1) == wanted).double().mean())
