"""A forked process has none of its parent's threads: what needs them, or their locks, begins anew there."""

from __future__ import annotations

import functools
import os
import weakref
from collections.abc import Iterable
from typing import Protocol


class Beginner(Protocol):
    def begin_anew(self) -> None: ...


def begin_anew_after_fork(beginner: Beginner) -> None:
    _living().add(beginner)


@functools.cache
def _living() -> weakref.WeakSet[Beginner]:
    living: weakref.WeakSet[Beginner] = weakref.WeakSet()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: _begin_anew(living))
    return living


def _begin_anew(beginners: Iterable[Beginner]) -> None:
    for beginner in list(beginners):
        beginner.begin_anew()
