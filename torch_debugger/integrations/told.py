"""Which exceptions have been explained: of several who could, one speaks."""

from __future__ import annotations

from typing import Any

_MARK = "_torch_debugger_explained"
_CHAIN_LENGTH = 20


def is_told(error: BaseException) -> bool:
    """Whether it was explained, or what it was raised from: the explanation of a cause is that of both."""
    current: BaseException | None = error
    for _ in range(_CHAIN_LENGTH):
        if current is None or _MARK in _attributes(current):
            break
        current = current.__cause__
    return current is not None and _MARK in _attributes(current)


def mark_told(error: BaseException) -> None:
    _attributes(error)[_MARK] = True


def _attributes(error: BaseException) -> dict[str, Any]:
    """The exception's own dictionary: its class may have strange ways to read and set attributes."""
    try:
        held = object.__getattribute__(error, "__dict__")
    except Exception:  # a class of the user's may hide it; then it is told again
        return {}
    return held if type(held) is dict else {}
