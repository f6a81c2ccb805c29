"""A log writer whose files go to an object store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.runlog.mirror import STORE_ROTATE_BYTES, Spool
from torch_debugger.runlog.writer import LogWriter


class StoredLogWriter(LogWriter):
    """Writes into a spool on this machine; `folder` is that one, and whatever else is put there goes along."""

    def __init__(self, url: str, *, on_fault: Callable[[str], None], **options: Any) -> None:
        self._spool = Spool(url, on_fault)
        super().__init__(
            self._spool.folder, on_fault=on_fault, **{"rotate_bytes": STORE_ROTATE_BYTES, **options}
        )

    def flush(self) -> None:
        super().flush()
        self._spool.mirror.hurry()

    def close(self) -> None:
        super().close()
        self._spool.close()
