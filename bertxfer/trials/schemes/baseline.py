"""Every pretrained weight as it is."""

from bertxfer.trials.schemes.scheme import Request, scheme
from bertxfer.trials.treatment import Treatment


@scheme(parts=True)
def baseline(request: Request) -> Treatment:
    return Treatment()
