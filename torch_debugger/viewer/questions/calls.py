"""A profile of Python's own cProfile: its functions, their numbers, and who called whom."""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked


def answer(asked: Asked) -> dict[str, Any]:
    name = asked.text("profile")
    if name not in asked.shelf.call_profiles:
        raise UsageError(f"There is no profile {name!r} among what is shown.")
    return {"file": name, **asked.shelf.call_profiles[name]}
