"""Values of a file that anybody may have written: taken only as what they must be."""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import UsageError


class NotASnapshotError(UsageError):
    """The file is plain data, but not of this form; its text says what came instead."""


def as_list(value: Any, what: str) -> list[Any]:
    if type(value) is not list:
        raise NotASnapshotError(f"its {what} should be a list and are of type {type(value).__name__}")
    return value


def as_dict(value: Any, what: str) -> dict[Any, Any]:
    if type(value) is not dict:
        raise NotASnapshotError(f"its {what} should be dictionaries, and one is of type {type(value).__name__}")
    return value


def as_count(value: Any) -> int:
    """A number of bytes, an address or a line; 0 for what is none."""
    return value if type(value) is int and 0 < value < 2**63 else 0


def as_text(value: Any) -> str:
    return value if type(value) is str else ""
