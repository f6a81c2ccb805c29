"""A stretch of a trace's timeline in as many bars as can be drawn; with `find`, where the next such name is."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked

_PIXELS = 1500


def answer(asked: Asked) -> dict[str, Any]:
    timeline = asked.shelf.traces.find(asked.text("trace")).timeline
    python = asked.text("python") == "1"
    words = asked.text("find")
    if words:
        return {"found": timeline.find(words, asked.number("after", 0.0) or 0.0, python=python)}
    until = asked.number("to", timeline.took_s) or timeline.took_s
    return timeline.window(
        asked.number("from", 0.0) or 0.0, until, asked.whole("width", _PIXELS), python=python
    )
