"""A chart for the column of a journal: as wide as asked for, with text that can be read at that size."""

import copy
import re
import textwrap
from typing import Any

import vl_convert

DPI = 96  # pixels of an SVG to the inch
LEAST = 130  # pixels of a panel
_LETTER = 5.4  # pixels of a letter of the caption, on average
_SIZES = {"labelFontSize": 9, "titleFontSize": 10}  # 7 and 7.5 points


def fitted(spec: dict[str, Any], inches: float) -> str:
    """The chart as SVG of this width: as many panels beside each other as have room, and every panel as wide as that
    leaves."""
    wide = round(inches * DPI)
    spec = _small(copy.deepcopy(spec), wide)
    panels = len({row.get("facet") for row in spec["data"]["values"]})
    labels = 60
    for part in spec.get("vconcat", [spec]):
        if "spec" in part:
            part["spacing"] = {"column": 44, "row": 56}
            part["columns"] = max(1, min(panels, part["columns"], (wide - labels + 44) // (LEAST + 44)))
    svg = ""
    for _ in range(4):  # what axes and legends take is known when they are drawn
        svg = vl_convert.vegalite_to_svg(spec, show_warnings=False)
        beyond = _width(svg) - wide
        if abs(beyond) < 1 or not _narrower(spec, beyond):
            break
    return _exactly(svg, wide)


def _narrower(spec: dict[str, Any], beyond: float) -> bool:
    """Takes from each panel its share of what is too much; False where none may become narrower."""
    changed = False
    for part in spec.get("vconcat", [spec]):
        inner = part.get("spec", part)
        was = inner["width"]
        inner["width"] = max(80, was - beyond / (part.get("columns") or 1))
        changed |= inner["width"] != was
    return changed


def _small(spec: dict[str, Any], wide: int) -> dict[str, Any]:
    """With small text, and the title and the legends broken into lines of the column's width."""
    config = spec["config"]
    config["axis"].update(_SIZES)
    config["legend"].update(_SIZES, labelLimit=wide - 60, layout={"top": {"direction": "vertical"}})
    config["header"]["labelFontSize"] = 10
    config["title"].update({"fontSize": 11, "subtitleFontSize": 9, "offset": 8})
    config["padding"] = 4
    title = spec["title"]
    title["text"] = textwrap.wrap(title["text"], int(wide / 6.2))
    title["subtitle"] = textwrap.wrap(" ".join(title["subtitle"]), int(wide / _LETTER))
    _of_panels(spec, wide)
    return spec


def _of_panels(node: Any, wide: int) -> None:
    """Legends that fit, headings and panels of the size of the text."""
    if isinstance(node, dict):
        if isinstance(node.get("legend"), dict):
            legend = node["legend"]
            legend.update({"columns": 1} if "columns" in legend else {})
            if "gradientLength" in legend:
                legend["gradientLength"] = min(legend["gradientLength"], wide - 80)
        if isinstance(node.get("header"), dict):
            node["header"]["labelFontSize"] = 10
        if isinstance(node.get("height"), (int, float)) and isinstance(node.get("width"), (int, float)):
            node["height"] = min(node["height"], 160) if node["height"] == 250 else node["height"]
        for key, child in node.items():
            if key not in ("data", "config"):
                _of_panels(child, wide)
    elif isinstance(node, list):
        for child in node:
            _of_panels(child, wide)


def _width(svg: str) -> float:
    found = re.search(r'<svg[^>]* width="([\d.]+)"', svg)
    assert found, svg[:200]
    return float(found[1])


def _exactly(svg: str, wide: int) -> str:
    """Scaled by what rounding left, and by more only where the panels cannot become narrower."""
    width = _width(svg)
    if abs(width - wide) < 0.5:
        return svg
    height = float(re.search(r'<svg[^>]* height="([\d.]+)"', svg)[1])  # type: ignore[index]
    svg = svg.replace(f'width="{width:g}"', f'width="{wide}"', 1)
    return svg.replace(f'height="{height:g}"', f'height="{height * wide / width:g}"', 1)
