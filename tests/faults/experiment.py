"""What the sweeps of all scenes are made of: a model, data, two experiments, and a package of another version."""

import random
import re
import shutil
from pathlib import Path

import bertxfer
from tests.helpers.models import bert

TASK = """\
name: own
text: [text]
labels: [bad, good]
metrics: [accuracy]
headline: accuracy
files: {train: own.csv, dev: own.csv}
"""

# Plain trials long enough to be hit, a task whose tokens are cached, chains of one and two stages, probes.
EXPERIMENT = """\
# @package _global_
grids:
  - {task: mini_sst2, data.n: 800, seed: "range(%d)"}
  - {task: own, data.n: 16, seed: "range(%d)"}
  - {task: own, intermediate: mini_cola, data.n: 16, seed: "range(%d)"}
  - {task: mini_sst2, intermediate: [[mini_cola, own]], data.n: 16, seed: "range(%d)"}
  - {task: mini_cola, training: probe, probe.layer: [0, 1], data.n: 16, seed: "range(%d)"}
"""
SEEDS = (4, 4, 3, 2, 2)  # of each grid, for a sweep of size 1

# Trials and features of the first one, and some that are new. No chains: as an end in itself a stage keeps no encoder,
# so that a chain elsewhere rightly has it computed again.
SHARED = """\
# @package _global_
grids:
  - {task: mini_sst2, data.n: 800, seed: "range(%d)"}
  - {task: own, data.n: 24, seed: "range(2)"}
  - {task: mini_cola, training: probe, probe.layer: [0, 1], data.n: 16, seed: "range(%d)"}
"""


def prepare(folder: Path, size: int) -> None:
    from bertxfer.tasks.mini import lexicon

    bert(1, folder / "model")
    words, draw = [word for word in lexicon.vocabulary() if word.isalpha()], random.Random(0)
    rows = [f"{' '.join(draw.choices(words, k=6))},{('bad', 'good')[i % 2]}\n" for i in range(64)]
    (folder / "own.csv").write_text("text,label\n" + "".join(rows))
    seeds = tuple(size * some for some in SEEDS)
    texts = {"faults": EXPERIMENT % seeds, "shared": SHARED % (seeds[0], seeds[4])}
    for group, name, text in (("task", "own", TASK), *(("experiment", name, text) for name, text in texts.items())):
        (folder / "conf" / group).mkdir(parents=True, exist_ok=True)
        (folder / "conf" / group / f"{name}.yaml").write_text(text)
    _copy_as_newer(folder / "newer")


def _copy_as_newer(folder: Path) -> None:
    """This checkout after somebody has changed what a config computes."""
    here = Path(bertxfer.__file__).parent
    shutil.copytree(here, folder / "bertxfer", ignore=shutil.ignore_patterns("__pycache__"))
    for beside in ("conf", "hydra_plugins"):
        (folder / beside).symlink_to(here.parent / beside)
    science = folder / "bertxfer" / "trials" / "science.py"
    raised = re.compile(r"^SEMANTICS = (\d+)$", re.MULTILINE)
    text, changed = raised.subn(lambda found: f"SEMANTICS = {int(found[1]) + 1}", science.read_text())
    assert changed == 1
    science.write_text(text)
