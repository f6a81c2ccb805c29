"""What the kernel tells in files, under /proc and /sys."""

from __future__ import annotations

import os


def kernel_text(path: str) -> str:
    """Empty where there is no such file. Not by open(): the script may have put a function of its own there."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return _nothing(error)
    parts = []
    try:
        while part := os.read(file, 1 << 16):
            parts.append(part)
    except OSError as error:  # a process may end while its file is read
        return _nothing(error)
    finally:
        os.close(file)
    return b"".join(parts).decode(errors="replace")


def _nothing(error: OSError) -> str:
    if error.errno is None:  # no answer of the system's: thrown in by another thread of the script's
        raise error
    return ""
