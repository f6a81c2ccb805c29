"""What the page needs once, at its start."""

from __future__ import annotations

from typing import Any

from torch_debugger._version import __version__
from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    return {
        "runs": len(asked.shelf.names()),
        "profiles": list(asked.shelf.call_profiles),
        "traces": len(asked.shelf.traces.files),
        "edit_token": asked.edit_token,
        "version": __version__,
    }
