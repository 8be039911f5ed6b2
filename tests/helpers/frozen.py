"""Sweeps that are frozen and not launched."""

from pathlib import Path

from bertxfer.config.schema import ArtifactSettings, Runtime
from bertxfer.sweeps import manifest
from bertxfer.sweeps.manifest import Manifest
from bertxfer.sweeps.sweep import Point, Sweep
from tests.helpers.running import trial


def frozen(folder: Path, *words: str, seeds: int) -> Manifest:
    """A sweep over seeds, with its results in a folder."""
    points = [Point({"seed": seed}, trial(*words, f"seed={seed}")) for seed in range(seeds)]
    return manifest.freeze(Sweep(points, Runtime(output_dir=str(folder), device="cpu", threads=1), ArtifactSettings()))
