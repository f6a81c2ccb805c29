"""What every test leaves behind for the next one: nothing."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def forget_what_was_compiled() -> Iterator[None]:
    """Dynamo remembers for the life of the process that something was compiled, and we step aside for it."""
    yield
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None:
        dynamo.reset()
