"""A file that is there as a whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(target: Path, text: str) -> None:
    """All of the text or nothing: whoever waits for the file never reads half of it."""
    if target.exists() and not target.is_file():  # /dev/stdout, a named pipe
        target.write_text(text, encoding="utf-8")
        return
    fd, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(fd, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:  # also Ctrl-C: whatever it was, half a file is taken away and it goes on
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
