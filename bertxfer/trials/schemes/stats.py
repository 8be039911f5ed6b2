"""New weights from a normal distribution with each tensor's own mean and standard deviation: only the statistics of
pretraining are left."""

from bertxfer.trials.schemes.rewriting import REGION, rewritten
from bertxfer.trials.schemes.scheme import Request, Steps, scheme
from bertxfer.trials.treatment import STATS


@scheme(REGION)
def stats(request: Request) -> Steps:
    return rewritten(STATS, request)
