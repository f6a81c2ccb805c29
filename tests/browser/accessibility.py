"""What every view owes to everybody: nothing grave that axe-core finds, in light and in dark, and no scrolling
sideways, on a telephone and on the widest screen."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

_AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
_GRAVE = ("serious", "critical")
_RUN = "axe.run(document, {resultTypes: ['violations']}).then(found => found.violations)"
_NEXT_FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def assert_accessible(page: Any, themes: tuple[str, ...] = ("light", "dark")) -> None:
    """Of the page as it stands. It is looked at in both themes and left in the one it had."""
    before = page.evaluate("document.documentElement.dataset.theme ?? ''")
    faults = [fault for theme in themes for fault in _faults(page, theme)]
    _set_theme(page, before)
    assert not faults, faults


def _faults(page: Any, theme: str) -> list[str]:
    _set_theme(page, theme)
    # Evaluated, not added as a script: the page's policy forbids foreign scripts, and shall go on to.
    if not page.evaluate("'axe' in window"):
        page.evaluate(_AXE.read_text(encoding="utf-8"))
    return [_told(each, theme) for each in page.evaluate(_RUN) if each["impact"] in _GRAVE]


def _set_theme(page: Any, theme: str) -> None:
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)


def _told(violation: dict[str, Any], theme: str) -> str:
    spots = ", ".join(" ".join(map(str, node["target"])) for node in violation["nodes"][:5])
    why = violation["nodes"][0]["failureSummary"].replace("\n", " ")
    return f"{theme}: {violation['id']} ({violation['impact']}) at {spots}: {why}"


def assert_fits(page: Any, widths: Sequence[int] = (3840, 360)) -> None:
    """Of the page as it stands, made as wide as each of these; it is left with the last width."""
    wider = {}
    for width in widths:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(_NEXT_FRAME)  # what watches its own size is drawn again
        found = page.evaluate("document.documentElement.scrollWidth")
        if found > width:
            wider[width] = found
    assert not wider, f"widths of the window, and how wide the page is in them: {wider}"
