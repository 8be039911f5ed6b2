"""One trial in one process, the ways people run it today. Used by bench/speed.py.

    python bench/ways.py paper|trainer|grouped TRIAL.json

TRIAL.json says what to do: where the model, its first weights and the rows are, and how to train. `paper` pads every
row to max_length and evaluates in batches of 8, as the code of the papers does. `trainer` is the Hugging Face Trainer
as its documentation has it: padded to the longest of a batch, evaluation with its default batch size. `grouped` is the
same with rows of like length in a batch, in training and in evaluation, and evaluation batches of 64. All evaluate
once, after the last epoch: so the papers' code is run, and so is the Trainer unless it is told otherwise. `paper` has
plain Adam, as that code has; the Trainer's default is fused AdamW, here without weight decay, which is Adam.

Prints its score, how often it evaluated and its own peak memory as JSON. The peak that the system gives a parent for
its child would not do: it is never below the parent's own.
"""

import json
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoTokenizer, BertForSequenceClassification, DataCollatorWithPadding
from transformers.utils import logging

logging.set_verbosity_error()
logging.disable_progress_bar()


def main() -> None:
    way, path = sys.argv[1:]
    trial = json.loads(Path(path).read_text())
    config = AutoConfig.from_pretrained(trial["model"], num_labels=2)
    if trial["dropout"] is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = trial["dropout"]
    model = BertForSequenceClassification.from_pretrained(trial["model"], config=config)
    model.load_state_dict(load_file(trial["weights"]))
    tokenizer = AutoTokenizer.from_pretrained(trial["model"])
    torch.manual_seed(trial["seed"])
    run = {"paper": paper, "trainer": trainer, "grouped": partial(trainer, grouped=True)}[way]
    print(json.dumps({**run(model, tokenizer, trial), "peak_memory_mb": peak_memory_mb()}))


def peak_memory_mb() -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def paper(model: Any, tokenizer: Any, trial: dict[str, Any]) -> dict[str, Any]:
    train, dev = (
        {
            name: torch.tensor(column)
            for name, column in _tokenized(tokenizer, trial, split, padding="max_length").items()
        }
        for split in ("train", "dev")
    )
    optimizer = torch.optim.Adam(model.parameters(), lr=trial["lr"])
    size, rows = trial["batch_size"], len(train["labels"])
    total = trial["epochs"] * -(-rows // size)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / total)
    for epoch in range(trial["epochs"]):
        model.train()
        order = trial["orders"][epoch]
        for first in range(0, rows, size):
            batch = {name: column[order[first : first + size]] for name, column in train.items()}
            optimizer.zero_grad()
            model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    model.eval()
    with torch.no_grad():
        parts = [
            model(**{name: column[first : first + 8] for name, column in dev.items() if name != "labels"}).logits
            for first in range(0, len(dev["labels"]), 8)
        ]
    logits = torch.cat(parts)
    score = float((logits.argmax(1) == dev["labels"]).float().mean())
    return {"score": score, "evaluations": 1, "logits": logits.tolist()}


def trainer(model: Any, tokenizer: Any, trial: dict[str, Any], grouped: bool = False) -> dict[str, Any]:
    import datasets
    import numpy
    from transformers import Trainer, TrainingArguments

    datasets.disable_progress_bars()
    splits = {
        split: datasets.Dataset.from_dict(_tokenized(tokenizer, trial, split, padding=False))
        for split in ("train", "dev")
    }
    better = {"train_sampling_strategy": "group_by_length", "per_device_eval_batch_size": 64} if grouped else {}
    arguments = TrainingArguments(
        output_dir=trial["scratch"],
        learning_rate=trial["lr"],
        per_device_train_batch_size=trial["batch_size"],
        num_train_epochs=trial["epochs"],
        eval_strategy="no",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
        seed=trial["seed"],
        **better,
    )

    def accuracy(outcome: Any) -> dict[str, float]:
        return {"accuracy": float((numpy.argmax(outcome.predictions, 1) == outcome.label_ids).mean())}

    teacher = Trainer(
        model=model,
        args=arguments,
        train_dataset=splits["train"],
        eval_dataset=splits["dev"],
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy,
    )
    stdout, sys.stdout = sys.stdout, sys.stderr  # it prints what it logs
    teacher.train()
    teacher.evaluate()
    sys.stdout = stdout
    scores = [entry["eval_accuracy"] for entry in teacher.state.log_history if "eval_accuracy" in entry]
    return {"score": scores[-1], "evaluations": len(scores)}


def _tokenized(tokenizer: Any, trial: dict[str, Any], split: str, **padding: Any) -> dict[str, Any]:
    rows = trial[split]
    columns = tokenizer(*rows["texts"], truncation=True, max_length=trial["max_length"], **padding)
    return {**columns, "labels": rows["labels"]}


if __name__ == "__main__":
    main()
