"""A terminal for tests: runs a command on a pty and keeps the screen a user would see."""

from __future__ import annotations

import time
from types import TracebackType

import pexpect
import pyte

from tests.cli.conftest import LIMIT_S

COLUMNS, LINES = 80, 24


class Terminal:
    """`screen` is what the user sees now; lines that have scrolled away are kept in `history`."""

    def __init__(self, command: list[str], lines: int = LINES) -> None:
        self._screen = pyte.HistoryScreen(COLUMNS, lines, history=10_000)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.process = pexpect.spawn(command[0], command[1:], dimensions=(lines, COLUMNS), timeout=LIMIT_S)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
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
        deadline = time.monotonic() + LIMIT_S
        while not any(text in line for line in (self.screen if on_screen else self.all_lines)):
            assert time.monotonic() < deadline, f"{text!r} did not come:\n" + "\n".join(self.all_lines)
            assert self.read(), f"ended without {text!r}:\n" + "\n".join(self.all_lines)

    def wait_at(self, prompt: str) -> None:
        """Reads until the cursor stands behind the prompt."""
        deadline = time.monotonic() + LIMIT_S
        while self.cursor_line != prompt:
            assert time.monotonic() < deadline, f"no {prompt!r} at the cursor:\n" + "\n".join(self.all_lines)
            assert self.read(), f"ended without {prompt!r}:\n" + "\n".join(self.all_lines)

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
