"""Memory that a fork shares with the process it is of: locks, queues and arrays of multiprocessing, files that
are mapped. In the fork each becomes a copy of its own."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Iterator

_LARGEST_COPY_BYTES = 64 << 20
_FIXED, _ANONYMOUS = 0x10, 0x20


def stop_sharing() -> None:
    """For good. What is too large to be copied can be read only: who writes there ends the fork."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    both, private = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | _FIXED | _ANONYMOUS
    for start, size in [*_shared_and_writable()]:
        if size > _LARGEST_COPY_BYTES:
            libc.mprotect(start, size, mmap.PROT_READ)
            continue
        content = ctypes.string_at(start, size)
        if libc.mmap(start, size, both, private, -1, 0) != start:
            raise OSError(ctypes.get_errno(), "shared memory could not be exchanged for a copy")
        ctypes.memmove(start, content, size)


def _shared_and_writable() -> Iterator[tuple[int, int]]:
    with open("/proc/self/maps") as maps:
        for line in maps:
            addresses, allowed, *_ = line.split(maxsplit=2)
            if allowed.startswith("rw") and allowed.endswith("s"):
                start, end = (int(each, 16) for each in addresses.split("-"))
                yield start, end - start
