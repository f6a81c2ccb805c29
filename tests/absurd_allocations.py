"""Allocations that no machine can serve, refused on every machine.

On x86 torch asks glibc for memory, and Linux refuses what is obviously too much. Torch's builds for ARM ask
mimalloc, which maps memory without a reservation: there every size is granted, and once it is written to, the
kernel kills a process of its choice. A limit of address space brings the refusal back.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def refused() -> Iterator[None]:
    """While this lasts, a process can have what it holds now and all the memory of the machine."""
    if not _all_is_granted():
        yield
        return
    import resource

    before, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_held_bytes() + _machine_bytes(), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, hard))


@functools.cache
def _all_is_granted() -> bool:
    if sys.platform != "linux":  # elsewhere the limit of address space is not kept to
        return False
    import torch

    try:
        torch.empty(2**43, dtype=torch.uint8)  # 8 TiB, never written to
    except RuntimeError:
        return False
    return True


def _held_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def _machine_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
