"""The names of the runs, the one that was written last first; with `like`, those that hold each of its words.

There may be tens of thousands: as many are told as a list can show, and how many there are.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked

_MOST = 200


def answer(asked: Asked) -> dict[str, Any]:
    words = asked.text("like").lower().split()
    runs = [name for name in asked.shelf.names() if all(word in name.lower() for word in words)]
    return {"runs": runs[:_MOST], "all": len(runs)}
