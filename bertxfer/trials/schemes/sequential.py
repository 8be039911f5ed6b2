"""Fine-tuned on other tasks first, every pretrained weight as it is; `intermediate` says on which."""

from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment


@scheme()
def sequential(request: Request) -> Treatment:
    return Treatment()
