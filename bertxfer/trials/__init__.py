"""What a config means: the treatment, the scientific config and its id, chains, families, and replicates.

Promises: pure decisions. The same config means the same trial wherever it is asked, and nothing is run or written.
May import: tasks, config, system. May be imported by: store, learning, sweeps, review, report, hall.
"""
