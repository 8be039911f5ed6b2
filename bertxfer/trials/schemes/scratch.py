"""Nothing pretrained is left: embeddings, all layers and the pooler are reinitialized."""

from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment


@scheme()
def scratch(asked: Request) -> Treatment:
    return asked.reinitialized(("embeddings", *asked.of_layers(asked.every_layer), "pooler"))
