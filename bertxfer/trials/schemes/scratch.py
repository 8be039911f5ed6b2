"""Nothing pretrained is left: embeddings, all layers and the pooler are reinitialized."""

from bertxfer.trials.schemes.scheme import Request, Steps, scheme


@scheme()
def scratch(request: Request) -> Steps:
    return request.reinitialized(("embeddings", *request.of_layers(request.every_layer), "pooler"))
