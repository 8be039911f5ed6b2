"""What may be asked for: the schema with its choices and ranges, composing, grids, and what is wrong with a config.

Promises: a key that is not in the schema, or a value that its key does not allow, is refused in one sentence, before
anything is loaded.
May import: system. May be imported by: tasks, trials, store, learning, sweeps, review, report, hall.
"""
