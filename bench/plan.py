"""How long `plan` of the largest presets takes, cold and warm: `python bench/plan.py`.

Cold is a machine that has never read the data; warm is the same command again, which remembers the rows by their files'
stamps. The data is that of BERTXFER_DATA, or else files with as many rows as the official ones have, of random words.
Models that are not here have stand-ins.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from bertxfer.config.schema import conf_dir

PRESETS = ("tamkin2020/fig2", "kovaleva2019/table1", "cs224n2020/fig3")
DEV_ROWS = 2000


def main() -> None:
    given = os.environ.get("BERTXFER_DATA")
    with tempfile.TemporaryDirectory(prefix="bxplan") as folder:
        rows = write_all(Path(folder)) if not given else 0
        print(f"data: {given or f'{rows:,} rows of random words, in the official layout'}", flush=True)
        time.sleep(2.5)  # a file that has just changed is not remembered
        for preset in PRESETS:
            with tempfile.TemporaryDirectory() as cache:
                cold = seconds(preset, cache, given or folder)
                seconds(preset, cache, given or folder)
                warm = statistics.median(seconds(preset, cache, given or folder) for _ in range(3))
            print(f"plan {preset}: cold {cold:.1f} s, warm {warm:.1f} s, {cold / warm:.1f} times", flush=True)


def seconds(preset: str, cache: str, data: str) -> float:
    words = [sys.executable, "-m", "bertxfer", "plan", "--stand-ins", "-m", f"experiment={preset}"]
    environment = {**os.environ, "BERTXFER_CACHE": cache, "BERTXFER_DATA": data}
    started = time.perf_counter()
    ran = subprocess.run(words, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    taken = time.perf_counter() - started
    if "data of task" in ran.stdout:
        sys.exit(f"plan {preset} has stand-ins for data, so it was not read; {data} is not complete")
    return taken


def write_all(root: Path) -> int:
    """The files of every task that has any, as its config describes them: how many training rows."""
    total = 0
    for path in sorted((conf_dir() / "task").glob("*.yaml")):
        task = yaml.safe_load(path.read_text())
        if "files" in task and "train_size" in task:
            folder = root / task["files"]["folders"][0]
            folder.mkdir(parents=True, exist_ok=True)
            for split, size in (("train", task["train_size"]), ("dev", DEV_ROWS)):
                write(task, folder / task["files"][split], size)
            total += task["train_size"]
    return total


def write(task: dict[str, Any], path: Path, size: int) -> None:
    say = random.Random(path.name)
    if task.get("kind") == "span":
        path.write_text(json.dumps({"data": [{"title": "x", "paragraphs": list(paragraphs(size, say))}]}))
        return
    told = {"text": task["text"], "label": task.get("label", "label"), **task["files"]}
    names = told.get("columns", {})
    texts, label = [names.get(name, name) for name in told["text"]], names.get(told["label"], told["label"])
    columns = told.get("header") or [*texts, label]
    with path.open("w") as file:
        if not told.get("header"):
            file.write("\t".join(columns) + "\n")
        for row in range(size):
            value = task["labels"][row % len(task["labels"])] if task.get("labels") else row % 26 / 5
            cells = {label: value, **{name: sentence(say) for name in texts}}
            file.write("\t".join(str(cells.get(name, "")) for name in columns) + "\n")


def paragraphs(questions: int, say: random.Random) -> Iterator[dict[str, Any]]:
    """Passages with five questions each, every third of which has no answer."""
    for first in range(0, questions, 5):
        context = " ".join(sentence(say) for _ in range(8))
        answer = {"text": context.split()[0], "answer_start": 0}
        yield {
            "context": context,
            "qas": [
                {
                    "id": f"q{i}",
                    "question": sentence(say),
                    "is_impossible": i % 3 == 0,
                    "answers": [answer] * (i % 3 > 0),
                }
                for i in range(first, min(first + 5, questions))
            ],
        }


def sentence(say: random.Random) -> str:
    return " ".join(say.choices(WORDS, k=15))


WORDS = [f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou" for c in "lmnrst"]

if __name__ == "__main__":
    main()
