"""Schemes: named families of treatments, each declared whole in a module of its own in this folder.

A module that is added here is found. It needs a file of its name in conf/scheme/, by which Hydra lets people choose it.
"""

from importlib import import_module
from pkgutil import iter_modules

from bertxfer.trials.schemes.scheme import SCHEMES, Donor, Request, no_donor, steps_of, stream_seed

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["SCHEMES", "Donor", "Request", "no_donor", "steps_of", "stream_seed"]
