"""Many trials: what a multirun asks for, frozen; who runs which; workers and launchers; how far it is.

Promises: nothing that was finished is lost or run twice; imports no torch until a trial has to run.
May import: learning, claims, store, trials, tasks, config, system. May be imported by: review, report, former, hall.
"""
