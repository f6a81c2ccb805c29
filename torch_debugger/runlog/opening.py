"""A log in a folder, or in an object store."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from torch_debugger.runlog.stores import is_url
from torch_debugger.runlog.writer import LogWriter


def open_log(place: str | os.PathLike[str], *, on_fault: Callable[[str], None], **options: Any) -> LogWriter:
    """`place` is a folder or a URL such as s3://bucket/runs/one; the options are LogWriter's."""
    if not is_url(place):
        return LogWriter(place, on_fault=on_fault, **options)
    from torch_debugger.runlog.stored_writer import StoredLogWriter

    return StoredLogWriter(os.fspath(place), on_fault=on_fault, **options)
