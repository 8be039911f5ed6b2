"""Many probes as one stack: their weights, the rows of each, and their training.

Each probe of a stack ends as it would alone: it has its own rows, order of batches and initial weights, nothing is
summed over probes but the loss, whose gradient with respect to one probe does not know of the others.
"""
