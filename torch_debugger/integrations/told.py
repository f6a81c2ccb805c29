"""Which exceptions have been explained: of several who could, one speaks."""

from __future__ import annotations

from torch_debugger.anatomy.kinds import own_attributes

_MARK = "_torch_debugger_explained"
_CHAIN_LENGTH = 20


def is_told(error: BaseException) -> bool:
    """Whether it was explained, or what it was raised from: the explanation of a cause is that of both."""
    current: BaseException | None = error
    for _ in range(_CHAIN_LENGTH):
        if current is None or _MARK in own_attributes(current):
            break
        current = current.__cause__
    return current is not None and _MARK in own_attributes(current)


def mark_told(error: BaseException) -> None:
    own_attributes(error)[_MARK] = True
