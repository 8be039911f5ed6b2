"""What is trained, and at which share of the learning rate."""

from collections.abc import Iterable, Iterator

from bertxfer.learning.heads import HeadedModel
from bertxfer.trials.families import atom_of, family_of, locate
from bertxfer.trials.science import Science


def freeze(model: HeadedModel, science: Science) -> None:
    """The regions that are not trained get no gradient, and what lies below the lowest trained one no backward pass."""
    parameters, family = dict(model.named_parameters()), family_of(science.model.family)
    names = list(_encoder_tensors(model))
    for region in science.frozen:
        for piece in locate(region, family, names):
            parameters[model.name_of(piece.name)].requires_grad_(False)


def rates(model: HeadedModel, science: Science, redrawn: Iterable[str]) -> dict[str, float]:
    """The share of the learning rate of each tensor of the encoder, by its name in the model, where that is not 1."""
    family, decay, faster = family_of(science.model.family), science.optimizer.layer_decay, set(redrawn)
    shares = {}
    for name in _encoder_tensors(model):
        atom = atom_of(name, family)
        above = 0 if atom.area == "pooler" else science.depth - (atom.layer or 0)
        shares[model.name_of(name)] = decay**above * (science.treatment.lr_factor if name in faster else 1.0)
    return {name: share for name, share in shares.items() if share != 1}


def _encoder_tensors(model: HeadedModel) -> Iterator[str]:
    """The names of the encoder's tensors, a pretrained or new pooler's among them, as the encoder calls them."""
    for name, _ in model.named_parameters():
        if not name.startswith("classifier."):
            yield name.removeprefix("encoder.") if name.startswith("encoder.") else name
