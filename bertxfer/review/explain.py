"""Where the value of a key comes from: what set it, and what that replaced."""

from collections.abc import Iterator, Sequence
from typing import Any

from hydra.types import RunMode
from omegaconf import DictConfig, ListConfig, OmegaConf

from bertxfer.config import complaints, schema
from bertxfer.config.composer import Composer
from bertxfer.config.overrides import axes_of
from bertxfer.errors import ConfigError
from bertxfer.review import provenance
from bertxfer.review.provenance import Provenance


def explain(key: str, overrides: Sequence[str], composer: Composer) -> list[str]:
    """For each key under `key`, in lines: its value, what set it, and everything that this replaced."""
    cfg = composer.compose(overrides, RunMode.MULTIRUN)
    origins = Provenance(composer, overrides)
    chooser = origins.chooser(key)
    lines = []
    if chooser is not None:
        lines.append(f"{key} is chosen by `{chooser.text}` in {chooser.where}")
    keys = list(_leaves(cfg, key))
    if not keys and chooser is None:
        raise ConfigError(
            key, f"there is no such key{complaints.meant(key, schema.keys())}; `--cfg job` shows them all"
        )
    for leaf in keys:
        lines += _about(leaf, cfg, origins)
    return lines + _swept(keys, overrides, composer)


def _about(key: str, cfg: DictConfig, origins: Provenance) -> list[str]:
    lines = [f"{key} = {_shown(OmegaConf.select(cfg, key, throw_on_missing=False))}"]
    lines.append(f"  {provenance.traced(origins, key) or 'nothing sets it'}")
    return [*lines, *(f"  replaces `{source.text}` in {source.where}" for source in origins.sources(key)[1:])]


def _swept(keys: Sequence[str], overrides: Sequence[str], composer: Composer) -> list[str]:
    """What the command line or an experiment's grids sweep over, which only a run with -m does."""
    chosen = next((word.split("=", 1)[1] for word in overrides if word.startswith("experiment=")), None)
    groups = dict.fromkeys(key.split(".")[0] for key in keys)
    axes = axes_of(overrides, composer.loader)
    typed = [key for key in dict.fromkeys([*keys, *groups]) if len(axes.get(key, [])) > 1]
    lines = [f"  with -m the command line sweeps over {key}: {len(axes[key])} values" for key in typed]
    for key in dict.fromkeys([*keys, *groups]) if chosen else []:
        source = provenance.in_grids(composer, str(chosen), key)
        if source is not None:
            lines.append(f"  with -m the grids sweep over {key}: `{source.text}` in {source.where}")
    return lines


def _leaves(cfg: DictConfig, key: str) -> Iterator[str]:
    try:
        parent, _, name = key.rpartition(".")
        holder = OmegaConf.select(cfg, parent) if parent else cfg
    except Exception:
        return
    if not isinstance(holder, DictConfig) or name not in holder:
        return
    node: Any = holder._get_node(name)
    if isinstance(node, DictConfig) and not node._is_none() and not node._is_interpolation() and len(node):
        for child in node:
            yield from _leaves(cfg, f"{key}.{child!s}")
    else:
        yield key


def _shown(value: Any) -> str:
    if isinstance(value, (DictConfig, ListConfig)):
        value = OmegaConf.to_container(value, resolve=True)
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
