"""A folder of ours on this machine for a log that belongs into an object store."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from os import getpid

from torch_debugger.runlog.mirror import CLOSE_WAIT_S, Mirror
from torch_debugger.runlog.stores import Store

STORE_ROTATE_BYTES = 8_000_000  # stores cannot append: a growing file is sent again as a whole


class Spool:
    """What is put into `folder` appears below `url`. Gone after close, unless the store was."""

    def __init__(self, url: str, on_fault: Callable[[str], None]) -> None:
        store = Store(url)
        self.url = store.url
        self.found = store.list_files()
        store.require_writable()
        self.folder = tempfile.mkdtemp(prefix="torch-debugger-")
        self.mirror = Mirror(self.folder, store, self.found, on_fault)
        self._on_fault = on_fault
        self._pid = getpid()
        self._closed = False

    def close(self) -> None:
        if getpid() != self._pid or self._closed:
            return
        self._closed = True
        if self._finish():
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            command = " ".join(["python", *_sending(self.folder, self.url)])
            missing = f"Not all of the log could be sent to {self.url}."
            self._on_fault(f"{missing} It is whole in {self.folder}; send the rest with: {command}")

    def _finish(self) -> bool:
        if threading.main_thread().is_alive():
            return self.mirror.close()
        # The interpreter is ending. Libraries of stores need thread pools, which are closed by now.
        return self.mirror.leave_to_others() or _send_from_new_process(self.folder, self.url)


def _send_from_new_process(folder: str, url: str) -> bool:
    command = [sys.executable, *_sending(folder, url)]
    try:
        ended = subprocess.run(command, capture_output=True, timeout=CLOSE_WAIT_S, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return ended.returncode == 0


def _sending(folder: str, url: str) -> list[str]:
    return ["-m", "torch_debugger.runlog.mirror", folder, url]
