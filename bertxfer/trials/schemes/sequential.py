"""Fine-tuned on other tasks first, every pretrained weight as it is; `intermediate` says on which."""

from bertxfer.trials.schemes.scheme import Request, Steps, scheme


@scheme()
def sequential(request: Request) -> Steps:
    return ()
