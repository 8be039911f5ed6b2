"""Before a sweep, and in a pull request: plan, costs, which trials a change adds or removes, where a value comes from.

Promises: starts nothing and writes nothing.
May import: sweeps, claims, store, trials, tasks, config, system. May be imported by: report, former, hall.
"""
