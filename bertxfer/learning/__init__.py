"""One trial, from its scientific config to its result: the only room that imports torch.

Promises: `run.run` tells the story of a trial. The same trial ends in the same bits, wherever it was interrupted.
May import: store, trials, tasks, config, system. May be imported by: sweeps, and there only inside the functions that
run trials.
"""
