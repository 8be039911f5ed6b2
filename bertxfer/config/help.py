"""The answer to --help, read off the tree of configs. Hydra's own takes over a second to list the groups."""

from bertxfer.config.schema import conf_dir

_TEXT = """\
bertxfer: how does BERT's pretraining help transfer?

  python -m bertxfer                                     one trial on the embedded default
  python -m bertxfer scheme=incremental k=6 task=mini_cola
  python -m bertxfer scheme=localized block=3 data.n=5000 -m seed=0..9
  python -m bertxfer -m experiment=mini                  a whole experiment

Config groups (group=choice):
{groups}

Keys (key=value), among others:
  k | block block_size preserve | layer | layer head | permutation_seed order     axes of the schemes
  part keep_layernorm reinit_lr_factor init.sd                                    how layers are redrawn
  data.n data.fraction seed training.epochs training.batch_size optimizer.lr
  runtime.device runtime.threads runtime.output_dir                               change no result

Verbs (a bare first word):
  plan [the words of a run]  what it would run, what is done, what it takes; starts nothing
  diff [revision]            which trials a change of conf/ or of the code adds, removes, changes
  explain key [overrides]    which file, defaults list or override gave a key its value
  status [sweep | trial]     how far sweeps are, which trial is where
  worker <sweep>             joins a sweep with one more worker
  cancel <sweep>             ends a sweep's workers; what they do is given back
  report [sweep | key=value] figures, tables and one HTML page of a sweep or an experiment
  experiments [key=value]    the papers' presets: trials, and how many are done
  export <file>              every stored trial as a row of a .parquet or .csv file

Flags:
  -m, --multirun      sweep: every comma, range(a,b) and a..b on the command line is an axis
  --cfg job           the composed config, without running it
  --info              how it was composed
  --hydra-help        Hydra's other flags
"""


def text() -> str:
    groups = sorted(path for path in conf_dir().rglob("*") if path.is_dir() and any(path.glob("*.yaml")))
    lines = []
    for group in groups:
        name = group.relative_to(conf_dir()).as_posix()
        lines.append(f"  {name:16} {', '.join(sorted(option.stem for option in group.glob('*.yaml')))}")
    return _TEXT.format(groups="\n".join(lines))
