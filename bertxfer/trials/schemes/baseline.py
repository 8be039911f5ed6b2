"""Every pretrained weight as it is."""

from bertxfer.trials.schemes.scheme import Request, Steps, scheme


@scheme(parts=True)
def baseline(request: Request) -> Steps:
    return ()
