"""The machine: files that a crash cannot leave half written, processes, SLURM, the hub, seeds, versions.

Promises: knows nothing of configs, trials or sweeps, so anything may use it.
May import: nothing. May be imported by: all.
"""
