"""`run --view`: the page of a run that goes on, served by a process of its own.

It is neither in the training nor in the way of it: started with the script, told by a closed pipe that whoever
started it has gone, however that came about.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import webbrowser
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from torch_debugger.runner.options import log_url
from torch_debugger.runner.status import write_line

if TYPE_CHECKING:
    from torch_debugger.settings import Settings
    from torch_debugger.viewer.http_server import PageServer


_STDERR = 2
_FIRST_FILE_S = 20.0  # until then there should be something to show
_END_S = 4.0
_LAST_LOOK_S = 1.5  # in which a page that is open sees how the run ended: it looks several times a second
# The folder we are started in comes last: a queue.py of the user's is not the library's.
_START = "import sys; sys.path.append(sys.path.pop(0)); from torch_debugger.cli.page_beside_run import main; main()"


class PageBeside:
    """Nothing at all unless the page was asked for."""

    def __init__(self, settings: Settings, folder: str) -> None:
        self._settings = settings
        self._folder = folder
        self._address = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> PageBeside:
        if self._settings.view_port is not None:
            self._start(self._settings.view_port)
            write_line(_STDERR, f"the page is at {self._address}")
            threading.Thread(target=self._open, daemon=True).start()
        return self

    def _start(self, port: int) -> None:
        from torch_debugger.viewer.server import HERE, address, listen

        name, folders = _shown(self._folder, alone=self._settings.log_dir is not None or not self._stays_there())
        with listen(HERE, port, "--view-port") as listening:
            port = listening.getsockname()[1]
            self._address = f"{address(HERE, port)}#/verdict?run={quote(name, safe='')}"
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, str(listening.fileno()), json.dumps(folders)],
                stdin=subprocess.PIPE,  # ends with us
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[listening.fileno()],
                start_new_session=True,  # Ctrl-C and a closed terminal are for the training
            )

    def _open(self) -> None:
        """Once there is something to see."""
        from torch_debugger.log.folders import event_files

        deadline = time.monotonic() + _FIRST_FILE_S
        while not event_files(self._folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        open_browser(self._address)

    def stay(self) -> None:
        """After the run, for whoever sits at the terminal; a script that calls us gets its answer at once."""
        if self._process is None or not self._stays_there() or not _somebody_sits_there():
            return
        write_line(_STDERR, f"the page stays at {self._address} until you press Ctrl-C.")
        with suppress(KeyboardInterrupt):
            self._process.wait()

    def _stays_there(self) -> bool:
        return self._settings.keep_log and log_url(self._settings) is None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _shown(folder: str, *, alone: bool) -> tuple[str, dict[str, str]]:
    """The run's name on the page, and the folders there: a run in `runs` is shown among those before it."""
    above, name = os.path.split(os.path.abspath(folder))
    return name, {name: folder} if alone else {"": above}


def _somebody_sits_there() -> bool:
    """At the terminal that we were started from, with us in its foreground."""
    try:
        return os.isatty(0) and os.isatty(_STDERR) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False


def main() -> None:
    """The process of the page."""
    import socket

    from torch_debugger.viewer.server import make_page_server

    with suppress(OSError):
        os.nice(5)  # a training that needs all processors gets them
    listening = socket.socket(fileno=int(sys.argv[1]))
    server = make_page_server(json.loads(sys.argv[2]), listening=listening)
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    server.serve_forever()


def _end_with_parent(server: PageServer) -> None:
    sys.stdin.buffer.read()
    if time.monotonic() - server.asked < _LAST_LOOK_S:
        time.sleep(_LAST_LOOK_S)
    os._exit(0)


# Opens the user's browser, where there is one to open.
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")


def open_browser(address: str) -> None:
    """Does not wait for it: some browsers take seconds to say that they have opened."""
    if has_browser():
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def has_browser() -> bool:
    """A browser of text would take the terminal away; one at the far end of an ssh is of no use."""
    if os.environ.get("BROWSER"):  # also how editors open a page at the near end of their connection
        return True
    if any(os.environ.get(name) for name in _REMOTE):
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _SCREENS)


def _open(address: str) -> None:
    try:
        webbrowser.open(address)
    except (webbrowser.Error, OSError):  # the address has been printed
        return
