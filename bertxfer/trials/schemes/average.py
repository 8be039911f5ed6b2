"""The pretrained weights are averaged with those of another model of the same shape."""

from bertxfer.trials.schemes.rewriting import AMOUNT, DONOR, REGION, rewritten
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.treatment import AVERAGE


@scheme(REGION, DONOR, AMOUNT)
def average(request: Request) -> Steps:
    return rewritten(AVERAGE, request)
