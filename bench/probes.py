"""Probing here against the plain way, in one run: every layer, eight seeds, at most forty epochs.

The plain way recomputes the frozen encoder for every batch of every epoch of every probe. It would take hours, so some
of its steps are timed, before and after, and scaled to the epochs that the probes here were really trained for. Both
sides have one thread and are timed in seconds of CPU, which other work on the machine disturbs less.
"""

import argparse
import itertools
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from spending import bertxfer, spending  # type: ignore[import-not-found]
from torch import nn

from bertxfer.learning import devices, encoders, heads
from bertxfer.learning.data import epoch_order
from bertxfer.learning.run import load_data
from bertxfer.store.store import Store
from bertxfer.trials.science import Science
from bertxfer.trials.trial import Trial

STEPS = 40  # of the plain way, timed before and after


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", nargs="*", default=["model=mini", "task=mini_sst2", "data.n=5000"])
    words = parser.parse_args().words
    layers = 6 if "model=minilm" in words else 12
    with tempfile.TemporaryDirectory() as folder:
        first = _one(words, layers, folder)
        plain = [_plain_steps(first, folder)]
        with spending() as here:
            _bertxfer(words, f"probe.layer=1..{layers}", "seed=0..7", folder=folder)
        plain.append(_plain_steps(first, folder))
        results = [json.loads(path.read_text()) for path in Path(folder).glob("trials/*/result.json")]
    wanted = [result for result in results if result["treatment_text"].startswith("layer ")]
    steps = sum(-(-(r["n_train"] - r["n_holdout"]) // 8) * r["epochs"] for r in wanted)
    there = [steps * seconds for seconds in plain]
    print(f"{' '.join(words)}: {len(wanted)} probes, {sum(r['epochs'] for r in wanted)} epochs in all, {steps} steps")
    print(f"here: {here.cpu:.0f} s of CPU, with start-up, features and evaluation; best layer {_best(wanted)}")
    for seconds, whole in zip(plain, there, strict=True):
        print(f"plain: {1000 * seconds:.1f} ms a step over {STEPS} steps, {whole / 3600:.1f} h in all")
    print(f"ratio: {min(there) / here.cpu:.0f} to {max(there) / here.cpu:.0f}")


def _one(words: list[str], layers: int, folder: str) -> Trial:
    """A trial of the sweep, planned by a command that runs it for one epoch elsewhere."""
    _bertxfer(words, f"probe.layer={layers}", "training.epochs=1", folder=f"{folder}/one")
    (manifest,) = Path(folder, "one", "sweeps").glob("*/manifest.json")
    (plain,) = json.loads(manifest.read_text())["trials"]
    return Trial(plain["id"], Science.from_dict(plain["science"]), plain["model_at"], plain["data_at"])


def _bertxfer(words: list[str], *more: str, folder: str) -> None:
    how = ("hydra/launcher=inline", "runtime.threads=1", f"runtime.output_dir={folder}")
    bertxfer("-m", *words, "training=probe", *more, *how)


def _plain_steps(trial: Trial, folder: str) -> float:
    """Seconds a step: a batch of eight, padded to its longest, through the encoder up to the layer that is probed."""
    devices.prepare(torch.device("cpu"), 1, "fp32")
    train, _ = load_data(trial, Store(f"{folder}/one"))
    encoder: Any = encoders.load(trial.model_at, trial.science.model).eval()
    # A probe of layer l needs the layers up to l: the layers 1..L cost as much as half of them each time, on average.
    encoder.encoder.layer = encoder.encoder.layer[: (trial.science.model.layers + 1) // 2]
    model = heads.HeadedModel(encoder, trial.science)
    optimizer = torch.optim.Adam(model.classifier.parameters(), lr=trial.science.optimizer.lr)
    order = itertools.cycle(epoch_order(len(train), 0, 0))
    start = 0.0
    for step in range(STEPS + 5):
        if step == 5:
            start = time.process_time()
        batch, labels = train.batch(list(itertools.islice(order, 8)), torch.device("cpu"))
        with torch.no_grad():
            states = encoder(**batch).last_hidden_state
        mask = batch["attention_mask"].unsqueeze(-1)
        loss = nn.functional.cross_entropy(model.classifier((states * mask).sum(1) / mask.sum(1)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return (time.process_time() - start) / STEPS


def _best(results: list[dict[str, object]]) -> str:
    scores: dict[str, list[float]] = {}
    for result in results:
        scores.setdefault(str(result["treatment_text"]), []).append(float(result["score"] or 0))  # type: ignore[arg-type]
    name, values = max(scores.items(), key=lambda item: sum(item[1]))
    return f"{name.split()[1]} with mean score {sum(values) / len(values):.3f}"


if __name__ == "__main__":
    main()
