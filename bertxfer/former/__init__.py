"""Names that modules had in earlier versions, for processes that still call them by these names.

`bertxfer/__init__.py` puts this folder on the package's path, so `python -m bertxfer.worker`, which stands in the
scripts of SLURM jobs that were submitted before, runs `former/worker.py`.
May import: sweeps, review. May be imported by: nothing.
"""
