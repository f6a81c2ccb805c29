"""A terminal for tests: runs a command on a pty and keeps the screen a user would see."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from collections.abc import Callable
from types import TracebackType

import pexpect
import pyte

from tests import preloaded
from tests.cli.conftest import LIMIT_S

COLUMNS, LINES = 80, 24


class Terminal:
    """`screen` is what the user sees now; lines that have scrolled away are kept in `history`."""

    def __init__(self, command: list[str], lines: int = LINES, *, forked: bool = False) -> None:
        self._screen = pyte.HistoryScreen(COLUMNS, lines, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.process = (
            Forked(command, lines)
            if forked
            else pexpect.spawn(command[0], command[1:], dimensions=(lines, COLUMNS), timeout=LIMIT_S)
        )

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.process.close(force=True)

    @property
    def screen(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    @property
    def all_lines(self) -> list[str]:
        above = ["".join(line[x].data for x in range(COLUMNS)).rstrip() for line in self._screen.history.top]
        return [*above, *self.screen]

    @property
    def margins(self) -> object:
        """The scroll region, None for the whole screen."""
        return self._screen.margins

    @property
    def cursor_line(self) -> str:
        return self.screen[self._screen.cursor.y]

    def type(self, text: str) -> None:
        self.process.send(text)

    def resize(self, lines: int) -> None:
        self.process.setwinsize(lines, COLUMNS)
        self._screen.resize(lines, COLUMNS)

    def wait_for(self, text: str, *, on_screen: bool = False) -> None:
        """Reads until the text is to be seen."""
        self.wait_until(
            lambda: any(text in line for line in (self.screen if on_screen else self.all_lines)), repr(text)
        )

    def wait_at(self, prompt: str) -> None:
        """Reads until the cursor stands behind the prompt and its blank."""
        column = len(prompt) + 1
        self.wait_until(
            lambda: (self.cursor_line, self._screen.cursor.x) == (prompt, column), f"{prompt!r} at the cursor"
        )

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Reads until it holds."""
        deadline = time.monotonic() + LIMIT_S
        while not holds():
            assert time.monotonic() < deadline, f"{what} did not come:\n" + "\n".join(self.all_lines)
            assert self.read(), f"ended without {what}:\n" + "\n".join(self.all_lines)

    def stay(self, seconds: float) -> None:
        """Reads for a while, whatever comes."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.read()

    def finish(self) -> int:
        """Reads to the end; the exit status, -n for a signal."""
        while self.read():
            pass
        self.process.wait()
        status: int | None = self.process.exitstatus
        return -self.process.signalstatus if status is None else status

    def read(self) -> bool:
        try:
            data: bytes = self.process.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        return True


class Forked:
    """As pexpect's spawn, for a command in a fork of the preloaded process; the terminal is its controlling one
    if it asks for it, as those of the stand do."""

    def __init__(self, command: list[str], lines: int) -> None:
        self._master, slave = os.openpty()
        self.setwinsize(lines, COLUMNS)
        streams = {"stdin": slave, "stdout": slave, "stderr": slave}
        self._process = preloaded.Popen(command, start_new_session=True, **streams)
        os.close(slave)

    def send(self, text: str) -> None:
        os.write(self._master, text.encode())

    def setwinsize(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def read_nonblocking(self, size: int, timeout: float) -> bytes:
        if not select.select([self._master], [], [], timeout)[0]:
            raise pexpect.TIMEOUT("nothing yet")
        try:
            return os.read(self._master, size)
        except OSError as ended:  # nobody has the other side open
            raise pexpect.EOF("the end") from ended

    def wait(self) -> None:
        self._process.wait(LIMIT_S)

    @property
    def exitstatus(self) -> int | None:
        return self._process.returncode if self._process.returncode >= 0 else None

    @property
    def signalstatus(self) -> int:
        return -self._process.returncode

    def close(self, *, force: bool) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)
