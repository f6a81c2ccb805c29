"""Functions of torch's replaced for a while."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any


@contextlib.contextmanager
def replaced(entries: Sequence[tuple[Any, str, Any]]) -> Iterator[None]:
    """Each an owner, the name of its attribute, and what stands in for it."""
    before = [(owner, name, vars(owner)[name]) for owner, name, _ in entries]
    for owner, name, value in entries:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in before:
            setattr(owner, name, value)
