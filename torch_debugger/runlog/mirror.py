"""A folder on this machine whose files appear in an object store, soon after they are written."""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from torch_debugger.errors import DebuggerError
from torch_debugger.runlog.stores import Store

STORE_ROTATE_BYTES = 8_000_000  # stores cannot append: a growing file is sent again as a whole

_EVERY_S = 10.0
_RETRY_S = 1.0
_CLOSE_WAIT_S = 30.0

_Face = tuple[int, int]  # size and time of the last change


class Mirror:
    """Sends what has changed in `folder`, from a thread of its own. A file that has not changed is not sent
    again, so a log's full files are sent once. What fails is said once and tried again."""

    def __init__(self, folder: str, store: Store, on_fault: Callable[[str], None]) -> None:
        self._folder = Path(folder)
        self._store = store
        self._on_fault = on_fault
        self._sent: dict[str, _Face] = {}
        self._failing = self._closing = False
        self._deadline_s = 0.0
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="torch_debugger mirror", daemon=True)
        self._thread.start()

    def hurry(self) -> None:
        """Send now rather than in some seconds; nobody waits for it."""
        self._bell.put(None)

    def close(self) -> bool:
        """Whether everything has arrived; waits for that, but not for ever."""
        self._deadline_s = time.monotonic() + _CLOSE_WAIT_S
        self._closing = True
        self._bell.put(None)
        self._thread.join(_CLOSE_WAIT_S + _RETRY_S)
        return not self._thread.is_alive() and not self._failing

    def _run(self) -> None:
        while not self._closing:
            with suppress(queue.Empty):
                self._bell.get(timeout=_EVERY_S)
            self._send_changed()
        self._send_changed()
        while self._failing and time.monotonic() + _RETRY_S < self._deadline_s:
            time.sleep(_RETRY_S)
            self._send_changed()

    def _send_changed(self) -> None:
        try:
            for name, face in self._changed():
                self._store.write(name, (self._folder / name).read_bytes())
                self._sent[name] = face
            self._failing = False
        except (DebuggerError, OSError) as error:
            self._failing = True
            self._say_once(f"{error} It is tried again while the run goes on.")

    def _say_once(self, sentence: str) -> None:
        on_fault, self._on_fault = self._on_fault, lambda sentence: None
        on_fault(sentence)

    def _changed(self) -> Iterator[tuple[str, _Face]]:
        for path in sorted(self._folder.rglob("*")):
            about = path.stat()  # before the file is read: what is written meanwhile makes it change again
            face = about.st_size, about.st_mtime_ns
            name = path.relative_to(self._folder).as_posix()
            if path.is_file() and not path.name.startswith(".") and self._sent.get(name) != face:
                yield name, face


class Spool:
    """A new folder of ours for what belongs below `url`. Gone after close, unless the store was."""

    def __init__(self, url: str, on_fault: Callable[[str], None]) -> None:
        store = Store(url)
        self.url = store.url
        self.found = store.list_files()
        store.require_writable()
        self.folder = tempfile.mkdtemp(prefix="torch-debugger-")
        self._on_fault = on_fault
        self._pid = os.getpid()
        self._closed = False
        self.mirror = Mirror(self.folder, store, on_fault)

    def close(self) -> None:
        if os.getpid() != self._pid or self._closed:
            return
        self._closed = True
        if self.mirror.close():
            shutil.rmtree(self.folder, ignore_errors=True)
        else:
            missing = f"Not all of the log could be sent to {self.url}."
            self._on_fault(f"{missing} It is whole in {self.folder}: copy it from there.")
