"""The weights of another model of the same shape are taken."""

from bertxfer.trials.schemes.rewriting import DONOR, REGION, rewritten
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.treatment import TRANSPLANT


@scheme(REGION, DONOR)
def transplant(request: Request) -> Steps:
    return rewritten(TRANSPLANT, request)
