"""Noise of each tensor's own size is mixed in: reinitialization with a dial, from 0, as pretrained, to 1, noise."""

from bertxfer.trials.schemes.rewriting import AMOUNT, REGION, rewritten
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.treatment import CORRUPT


@scheme(REGION, AMOUNT)
def corrupt(request: Request) -> Steps:
    return rewritten(CORRUPT, request)
