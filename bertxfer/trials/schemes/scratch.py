"""Nothing pretrained is left: embeddings, all layers and the pooler are reinitialized."""

from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment


@scheme()
def scratch(request: Request) -> Treatment:
    return request.reinitialized(("embeddings", *request.of_layers(request.every_layer), "pooler"))
