"""The answer to --help, read off the tree of configs. Hydra's own takes over a second to list the groups."""

from collections.abc import Iterable

from bertxfer.config import experiments
from bertxfer.config.schema import conf_dir

_TEXT = """\
bertxfer: how does BERT's pretraining help transfer?

  python -m bertxfer                                     one trial on the embedded default
  python -m bertxfer scheme=incremental k=6 task=mini_cola
  python -m bertxfer scheme=localized block=3 data.n=5000 -m seed=0..9
  python -m bertxfer -m experiment=mini                  a whole experiment

Config groups (group=choice):
{groups}

Axes of the schemes (key=value, beside scheme=...):
{axes}

Other keys, among others:
  part keep_layernorm reinit_lr_factor init.sd                    how layers are reinitialized
  data.n data.fraction seed training.epochs training.batch_size optimizer.lr
  runtime.device runtime.threads runtime.output_dir               change no result

Verbs (a bare first word; `bertxfer VERB --help` has the rest):
{verbs}

Flags:
  -m, --multirun      sweep: every comma, range(a,b) and a..b on the command line is an axis
  --cfg job           the composed config, without running it
  --info              how it was composed
  --hydra-help        Hydra's other flags
"""


def text(axes: Iterable[tuple[str, str]], verbs: Iterable[tuple[str, str]]) -> str:
    """The whole answer. `axes` and `verbs` are pairs of a name and what to say about it."""
    return _TEXT.format(groups=_lines(_groups()), axes=_lines(axes), verbs=_lines(verbs))


def _groups() -> Iterable[tuple[str, str]]:
    conf = conf_dir()
    for group in sorted(path for path in conf.iterdir() if path.is_dir() and path.name not in ("experiment", "hydra")):
        yield group.name, ", ".join(sorted(option.stem for option in group.glob("*.yaml")))
    for group in sorted((conf / "hydra").iterdir()):
        yield f"hydra/{group.name}", ", ".join(sorted(option.stem for option in group.glob("*.yaml")))
    papers: dict[str, list[str]] = {}
    for name in experiments.names(conf):
        paper, _, figure = name.rpartition("/")
        papers.setdefault(f"experiment={paper}/" if paper else "experiment", []).append(figure)
    for paper, figures in papers.items():
        yield paper, ", ".join(figures)


def _lines(entries: Iterable[tuple[str, str]]) -> str:
    pairs = list(entries)
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"  {name.ljust(width)}  {words}" for name, words in pairs)
