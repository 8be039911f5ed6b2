"""axe, the accessibility checker, as `make axe` brings it from the npm registry, run in the page that is open."""

import os
from pathlib import Path
from typing import Any

from tests.helpers.browser import Browser

FOLDER = Path(os.environ.get("BERTXFER_AXE") or Path.home() / ".cache" / "bertxfer-tests" / "axe")
SERIOUS = ("serious", "critical")


def serious(browser: Browser) -> list[str]:
    """What axe finds of the kinds that matter: the rule, and where."""
    script = FOLDER / "node_modules" / "axe-core" / "axe.min.js"
    assert script.is_file(), f"there is no {script}: `make axe` brings it"
    # Evaluated by the DevTools, so the page's own rule that nothing may be loaded stays as it is.
    browser.ask("Runtime.evaluate", expression=script.read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = browser.run(
        "axe.run(document, {resultTypes: ['violations']}).then((told) => told.violations.map((one) =>"
        " ({id: one.id, impact: one.impact, where: one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160))})))"
    )
    return [f"{one['id']}: {one['where']}" for one in found if one["impact"] in SERIOUS]
