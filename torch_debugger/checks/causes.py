"""The cause graph: which faults bring about which others, also by way of a third."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from torch_debugger.checks.catalog import catalog


@functools.cache
def consequences() -> Mapping[str, frozenset[str]]:
    """Each check's name with the names of all that its fault may bring about."""
    direct = {check.name: check.explains for check in catalog()}
    return {name: _reached(name, direct) for name in direct}


def _reached(name: str, direct: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    found: set[str] = set()
    waiting = list(direct[name])
    while waiting:
        following = waiting.pop()
        if following not in found:
            found.add(following)
            waiting += direct.get(following, ())
    return frozenset(found)
