"""What every test leaves behind for the next one: nothing."""

from __future__ import annotations

import os
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


@pytest.fixture(autouse=True)
def go_back_to_where_the_test_began() -> Iterator[None]:
    """Scripts that are run in the tests' own process may change the working folder."""
    before = os.getcwd()
    yield
    os.chdir(before)
