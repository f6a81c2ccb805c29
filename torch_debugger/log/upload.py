"""A folder of ours on this machine for a log that belongs into an object store."""

from __future__ import annotations

import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from os import getpid
from pathlib import Path

from torch_debugger.log.object_stores import Store, StoredFile
from torch_debugger.system.clocks import time
from torch_debugger.system.errors import DebuggerError
from torch_debugger.system.signals import OwnThread

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
    return ["-m", "torch_debugger.log.upload", folder, url]


# A folder on this machine whose files appear in an object store, soon after they are written.
#
# python -m torch_debugger.log.upload FOLDER URL sends what is not there yet
_EVERY_S = 10.0
_RETRY_S = 1.0
CLOSE_WAIT_S = 30.0

_Face = tuple[int, int]  # size and time of the last change


class Mirror:
    """Sends what has changed in `folder`, from a thread of its own. A file that has not changed is not sent
    again, so a log's full files are sent once. What fails is said once and tried again."""

    def __init__(self, folder: str, store: Store, found: Iterable[StoredFile], on_fault: Callable[[str], None]) -> None:
        """`found` are the files that the store has already."""
        self._folder = Path(folder)
        self._store = store
        self._on_fault = on_fault
        self._there = {file.name: file.size for file in found if "tfevents" in file.name}
        self._sent: dict[str, _Face] = {}
        self._failing = self._closing = self._idle = False
        self._deadline_s = 0.0
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._thread = OwnThread(self._run, "torch_debugger mirror")
        self._thread.start()

    def hurry(self) -> None:
        """Send now rather than in some seconds; nobody waits for it."""
        self._bell.put(None)

    def close(self) -> bool:
        """Whether everything has arrived; waits for that, but not for ever."""
        self._deadline_s = time.monotonic() + CLOSE_WAIT_S
        self._closing = True
        self._bell.put(None)
        self._thread.join(CLOSE_WAIT_S + _RETRY_S)
        return not self._thread.is_alive() and not self._failing

    def leave_to_others(self) -> bool:
        """Sends nothing from here on; whether everything has arrived as it is."""
        self._idle = True
        return not any(self._changed())

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
        if self._idle:
            return
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
        if not self._idle:
            on_fault(sentence)

    def _changed(self) -> Iterator[tuple[str, _Face]]:
        for path in sorted(self._folder.rglob("[!.]*")):  # what begins with a dot is being written
            about = path.stat()  # before the file is read: what is written meanwhile makes it change again
            face = about.st_size, about.st_mtime_ns
            name = path.relative_to(self._folder).as_posix()
            if path.is_file() and self._sent.get(name) != face and self._there.get(name) != about.st_size:
                yield name, face


def main(folder: str, url: str) -> int:
    store = Store(url)
    arrived = Mirror(folder, store, store.list_files(), _say).close()
    return 0 if arrived else 1


def _say(fault: str) -> None:
    sys.stderr.write(f"torch-debugger: {fault}\n")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
