"""The truth on disk: trials by id, and what trials share.

Promises: a result that is there is whole and belongs to its id; everything else can be made again.
May import: trials, tasks, config, system. May be imported by: learning, sweeps, review, report, hall.
"""
