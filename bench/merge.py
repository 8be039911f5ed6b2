"""How long `merge` takes for a store of many small trials, against a plain copy of the same folder.

    python bench/merge.py [--trials 10000] [--other FOLDER]

The store is made in a temporary folder by the functions of bench/store.py: one trial under as many seeds, each with its
own config, 872 predictions and 315 steps of history. A merge reads and checks all of it, and has every file on the disk
before its trial is seen; `cp -r` does neither. The files were written just before, so they are in the system's cache.
"""

import argparse
import dataclasses
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from store import finish_all, timed

from bertxfer.config.composer import Composer
from bertxfer.config.schema import conf_dir
from bertxfer.sweeps import manifest
from bertxfer.sweeps.sweep import Point, Sweep
from bertxfer.sweeps.wanted import sweep_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--other", type=Path, help="where to make the stores, as a folder of a network disk")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bxmerge", dir=arguments.other) as folder:
        measure(Path(folder), arguments.trials)


def measure(folder: Path, trials: int) -> None:
    """Prints the seconds of each way, and how many times those of the copy they are."""
    other, here = folder / "other", folder / "here"
    name = fill(other, trials)
    plain = copied(other, folder / "copy")
    print(f"{trials:,} trials\n{'':34}  {'wall s':>7}  {'CPU s':>7}  {'ratio':>6}", flush=True)
    print(f"{'cp -r':34}  {plain:7.1f}  {'':7}  {1:6.1f}", flush=True)
    output = ["--output-dir", str(here)]
    packed = str(folder / "sweep.tar")
    ways = {
        "merge into an empty store": ["merge", str(other), *output],
        "merge again, nothing is new": ["merge", str(other), *output],
        "pack": ["pack", name, packed, *output],
        "merge of the packed file": ["merge", packed, "--output-dir", str(folder / "third")],
    }
    for way, words in ways.items():
        wall, cpu = timed(words)
        print(f"{way:34}  {wall:7.1f}  {cpu:7.1f}  {wall / plain:6.1f}", flush=True)


def fill(root: Path, trials: int) -> str:
    """A store with this many seeds of one finished trial, as a sweep: its name."""
    asked = sweep_of(["model=mini", f"runtime.output_dir={root}"], Composer(conf_dir()))
    first, points = asked.points[0].trial, []
    for seed in range(trials):
        science = dataclasses.replace(first.science, seeds=dict.fromkeys(first.science.seeds, seed))
        points.append(Point({"seed": seed}, dataclasses.replace(first, id=science.id, science=science)))
    frozen = manifest.freeze(Sweep(points, asked.runtime, asked.artifacts))
    finish_all(frozen)
    return frozen.name


def copied(source: Path, target: Path) -> float:
    """Seconds of a plain copy, which is then removed."""
    started = time.monotonic()
    subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    seconds = time.monotonic() - started
    shutil.rmtree(target)
    return seconds


if __name__ == "__main__":
    main()
