"""Attributes replaced while we watch, and put back afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_MISSING = object()


class Patches:
    def __init__(self) -> None:
        self._undo: list[tuple[Any, str, Any, Any]] = []

    def replace(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        """owner.name = make(the original)"""
        own = vars(owner).get(name, _MISSING)
        replacement = make(getattr(owner, name))
        setattr(owner, name, replacement)
        self._undo.append((owner, name, own, replacement))

    def restore(self) -> None:
        for owner, name, own, replacement in reversed(self._undo):
            if vars(owner).get(name, _MISSING) is not replacement:
                continue  # somebody else patched over us; theirs keeps calling through ours
            if own is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, own)
        self._undo.clear()
