"""The names of the runs, the one that was written last first."""

from __future__ import annotations

from typing import Any

from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    return {"runs": asked.shelf.names()}
