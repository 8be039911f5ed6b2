"""Templates to self-contained pages: style, scripts and charts are in the page, and nothing is fetched."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import vl_convert
from markupsafe import Markup

from bertxfer import __version__
from bertxfer.system import environment

_HERE = Path(__file__).parent / "html"
# What the bundle of Vega makes available to the page's script.
_GLOBALS = "window.vegaEmbed = vegaEmbed;"


def render(template: str, specs: Sequence[dict[str, Any] | None] = (), trials: Any = None, **context: Any) -> str:
    """The page. Everything that is put in is escaped, unless it is ours and marked so."""
    has_charts = any(spec is not None for spec in specs)
    revision, dirty = environment.revision()
    bundle = vl_convert.javascript_bundle(_GLOBALS).replace("</script", "<\\/script") if has_charts else ""
    loader = jinja2.FileSystemLoader(_HERE)
    templates = jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    return templates.get_template(template).render(
        **{"renewed": None, **context},
        written=time.strftime("%Y-%m-%d %H:%M:%S %Z"),
        version=__version__,
        revision=f"{revision}{' (changed)' if dirty else ''}" if revision else None,
        css=Markup(_read("page.css")),
        js=Markup(_read("page.js") + (_read("trials.js") if trials is not None else "")),
        has_charts=has_charts,
        vega=Markup(bundle),
        specs=Markup(_json(list(specs))),
        trial_rows=Markup(_json(trials)),
    )


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _read(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
