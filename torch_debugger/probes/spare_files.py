"""A few more open files than the script may have, while a crash is looked at."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

_SPARE = 32
_own: list[int] = []  # the script's own limit, while it has more


@contextlib.contextmanager
def spare_files() -> Iterator[None]:
    """Sources must be read also where the crash is that no file can be opened any more."""
    try:
        import resource  # not on Windows
    except ImportError:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _own or soft == resource.RLIM_INFINITY or (hard != resource.RLIM_INFINITY and soft + _SPARE > hard):
        yield
        return
    _own.append(soft)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft + _SPARE, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (_own.pop(), hard))


def file_limit() -> int:
    """How many files the script itself may have open."""
    import resource

    return _own[0] if _own else resource.getrlimit(resource.RLIMIT_NOFILE)[0]
