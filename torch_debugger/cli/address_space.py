"""Little address space (`ulimit -v`), of which our threads would take the script's."""

from __future__ import annotations

import sys

_LITTLE_BYTES = 4 * 1024**3
_ARENA_MAX = -8  # of mallopt


def spare_address_space() -> None:
    """Each thread reserves 64 MB for a heap of its own, unless glibc is told that one is enough for all."""
    if not sys.platform.startswith("linux") or not _is_little():
        return
    import ctypes

    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # not in musl
    if mallopt is not None:
        mallopt(_ARENA_MAX, 1)


def _is_little() -> bool:
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return limit != resource.RLIM_INFINITY and limit < _LITTLE_BYTES
