"""What axe-core finds wrong with a page: nothing serious or critical may be, in light and in dark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_GRAVE = ("serious", "critical")


def assert_accessible(page: Any, themes: tuple[str, ...] = ("light", "dark")) -> None:
    """Of the page as it stands. It is looked at in both themes and left in the one it had."""
    before = page.evaluate("document.documentElement.dataset.theme ?? ''")
    faults = [fault for theme in themes for fault in _faults(page, theme)]
    _set_theme(page, before)
    assert faults == []


def _faults(page: Any, theme: str) -> list[str]:
    _set_theme(page, theme)
    # Evaluated, not added as a script: the page's policy forbids foreign scripts, and shall go on to.
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [_told(each, theme) for each in found if each["impact"] in _GRAVE]


def _set_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


def _told(violation: dict[str, Any], theme: str) -> str:
    spots = ", ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:5])
    why = violation["nodes"][0]["failureSummary"].replace("\n", " ")
    return f"{theme}: {violation['id']} ({violation['impact']}) at {spots}: {why}"
