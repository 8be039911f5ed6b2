"""What results say: tables, figures, statistics and one page, all of it made from the store.

Promises: results are only read. Nothing is averaged but replicates, and nothing is left out without being counted.
May import: review, sweeps, claims, store, trials, tasks, config, system. May be imported by: hall.
"""
