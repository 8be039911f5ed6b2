"""Claims: what an experiment sets out to decide, and what its rounds say about it.

Promises: a verdict is a pure function of the numbers of whole rounds, in their order. It may be asked for after every
round, and one that was reached is never taken back.
May import: nothing. May be imported by: sweeps, review, report, hall.
"""
