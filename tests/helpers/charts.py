"""What the charts of an open page look like: where axes end, and which words and marks lie on each other."""

import re
from typing import Any

from tests.helpers.browser import Browser

# Words that are shown, and symbols, as boxes on the page; Vega hides labels that would overlap by their opacity.
_BOXES = """
[...document.querySelectorAll('.chart svg text, .chart svg .mark-symbol.role-mark path')].map((one) => {
  const box = one.getBoundingClientRect();
  const empty = one.tagName === 'text' && !one.textContent;
  const hidden = empty || one.closest('[opacity="0"]') || getComputedStyle(one).opacity === '0';
  const written = one.closest('.role-mark') !== null && one.tagName === 'text';
  return hidden || box.width === 0 ? null : [one.closest('.chart').id, one.tagName, one.textContent, written,
    box.left, box.top, box.right, box.bottom];
}).filter(Boolean)
"""
_LEAST = 2.5  # pixels that two boxes share; the box of a text is higher than its letters


def overlapping(browser: Browser) -> list[str]:
    """Words that lie on other words, and words of axes and headings that lie on marks."""
    boxes: list[list[Any]] = browser.run(_BOXES)
    found = []
    for i, (chart, kind, text, written, *one) in enumerate(boxes):
        for other_chart, other_kind, other_text, other_written, *other in boxes[i + 1 :]:
            if chart != other_chart or {kind, other_kind} == {"path"}:
                continue
            if "path" in (kind, other_kind) and (written or other_written):
                continue  # a number in its cell
            wide = min(one[2], other[2]) - max(one[0], other[0])
            high = min(one[3], other[3]) - max(one[1], other[1])
            if wide > _LEAST and high > _LEAST:
                found.append(f"{chart}: {text or kind!r} on {other_text or other_kind!r} by {wide:.0f}x{high:.0f}")
    return found


def axes(browser: Browser) -> list[tuple[str, float, float]]:
    """The title of every axis of numbers, and where it ends."""
    told = browser.run("[...document.querySelectorAll('.chart [aria-label*=\"-axis\"]')].map(one => one.ariaLabel)")
    found = []
    for label in told:
        ends = re.search(r"titled '(.*)' for a linear scale with values from (\S+) to (\S+)", label)
        if ends:
            low, high = (float(end.replace("−", "-").replace(",", "")) for end in ends.groups()[1:])
            found.append((ends[1], low, high))
    return found
