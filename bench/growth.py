"""How the cost of a trial grows with its rows and the model's layers, and of a sweep with its workers.

    python bench/growth.py [--json FILE]

Trials of the mini model, or of untrained models of its width where layers are counted: what is measured is time.
"""

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

from speed import ours  # type: ignore[import-not-found]
from spending import CORES, spending  # type: ignore[import-not-found]

BASE = ["model=mini", "model.pooling=cls", "task=mini_sst2", "training.epochs=2", "data.dev_n=200"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bertxfer-growth-") as scratch:
        measured = {
            "rows": [{"n": n, **trial([f"data.n={n}"], Path(scratch))} for n in (125, 250, 500, 1000)],
            "layers": [
                {"layers": layers, **trial([f"model.name={untrained(layers, Path(scratch))}"], Path(scratch))}
                for layers in (3, 6, 12, 24)
            ],
            "workers": [workers(count, Path(scratch)) for count in sorted({1, CORES})],
        }
    for name, rows in measured.items():
        print(name)
        for row in rows:
            print("   ", ", ".join(f"{key} {value:.3g}" for key, value in row.items()))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(measured, indent=2) + "\n")


def trial(words: list[str], scratch: Path) -> dict[str, float]:
    """Seconds of the second and third trial of a worker that has everything loaded, one thread, nothing beside it."""
    folder = Path(tempfile.mkdtemp(dir=scratch))
    results = ours([*BASE, "data.n=500", *words, "seed=0..2", "hydra.launcher.workers=1"], folder)
    warm = sorted(results, key=lambda result: result["timings"]["load"] + result["timings"]["treat"])[:2]
    return {
        "start_seconds": median(result["timings"]["load"] + result["timings"]["treat"] for result in warm),
        "train_seconds": median(result["timings"]["train"] - result["timings"]["evaluate"] for result in warm),
        "evaluate_seconds": median(result["timings"]["evaluate"] for result in warm),
        "peak_memory_mb": max(result["peak_memory_mb"] for result in results),
    }


def workers(count: int, scratch: Path) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(dir=scratch))
    with spending() as spent:
        results = ours([*BASE, "data.n=250", "seed=0..7", f"hydra.launcher.workers={count}"], folder)
    return {"workers": count, "trials_per_hour": 3600 * len(results) / spent.wall, "cpu_seconds": spent.cpu}


def untrained(layers: int, scratch: Path) -> Path:
    import shutil

    from transformers import BertConfig, BertModel

    mini = Path(__file__).parent.parent / "bertxfer" / "tasks" / "mini" / "model"
    folder = scratch / f"layers{layers}"
    config = BertConfig.from_pretrained(mini, num_hidden_layers=layers)
    BertModel(config).save_pretrained(folder)
    for path in [*mini.glob("tokenizer*"), *mini.glob("vocab*")]:
        shutil.copy(path, folder)
    return folder


if __name__ == "__main__":
    main()
