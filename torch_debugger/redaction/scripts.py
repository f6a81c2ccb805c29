"""The text of a script: it tells what its options are called."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

_READ_BYTES = 16_000_000  # a script that is longer is none


def read_script(path: str) -> bytes:
    """A plain file's bytes: what comes through a pipe is the script's to read."""
    with suppress(OSError, ValueError):
        if stat.S_ISREG(os.stat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(_READ_BYTES)
    return b""
