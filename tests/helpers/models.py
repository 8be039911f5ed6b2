"""Small encoders with random weights that speak the mini language."""

import shutil
from pathlib import Path

from bertxfer.system.package import PACKAGE

MINI = PACKAGE / "tasks" / "mini" / "model"


def bert(layers: int, folder: Path) -> Path:
    from transformers import BertConfig, BertModel

    from bertxfer.tasks.mini import lexicon

    shape = {"hidden_size": 24, "num_attention_heads": 12, "intermediate_size": 32, "max_position_embeddings": 128}
    words = len(lexicon.vocabulary())
    return saved(BertModel, BertConfig(vocab_size=words, num_hidden_layers=layers, **shape), folder)


def saved(model_class: type, model_config: object, folder: Path, seed: int = 0) -> Path:
    """A model with random weights, no two tensors alike, saved as a folder with the mini tokenizer."""
    import torch

    torch.manual_seed(seed)
    model = model_class(model_config)
    with torch.no_grad():
        for parameter in model.parameters():  # biases and LayerNorm too, so that any change can be seen
            parameter.add_(torch.randn_like(parameter) * 0.02)
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        if (MINI / name).exists():
            shutil.copy(MINI / name, folder / name)
    return folder
