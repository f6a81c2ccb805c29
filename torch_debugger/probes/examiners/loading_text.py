"""A worker's traceback, which reaches the main process only as text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from torch_debugger.anatomy.sources import is_user_file, line_at, place_at
from torch_debugger.records import Place

_HEAD = re.compile(r"Caught (\w+) in DataLoader worker process (\d+)\.\nOriginal ")
_FRAME = re.compile(r'^  File "(.+)", line (\d+), in (.+)\n    (.*)$', re.MULTILINE)
_START = "Traceback (most recent call last):\n"


@dataclass(frozen=True)
class TextFrame:
    file: str
    line: int
    function: str
    code: str


@dataclass(frozen=True)
class WorkerText:
    """What the text tells: the frames of the exception that was raised last, the outermost first."""

    kind: str
    worker: int
    frames: tuple[TextFrame, ...]
    message: str

    @property
    def stage(self) -> str:
        fetching = [frame.code for frame in self.frames if frame.file.endswith("fetch.py")]
        if not fetching:
            return "start"
        return "collate" if "collate_fn(" in fetching[-1] else "sample"

    @property
    def user_frame(self) -> TextFrame | None:
        """The innermost frame of the user's whose line is still what the text says."""
        users = [frame for frame in self.frames if is_user_file(frame.file)]
        return users[-1] if users and line_at(users[-1].file, users[-1].line) == users[-1].code else None

    @property
    def place(self) -> Place:
        frame = self.user_frame
        return place_at(frame.file, frame.line) if frame is not None else Place()


def read_worker_text(message: str) -> WorkerText | None:
    head = _HEAD.match(message)
    if head is None or _START not in message:
        return None
    last = message.rpartition(_START)[2]
    found = list(_FRAME.finditer(last))
    frames = tuple(TextFrame(file, int(line), name, code.strip()) for file, line, name, code in
                   (match.groups() for match in found))  # fmt: skip
    after = [line for line in last[found[-1].end() if found else 0 :].splitlines() if line[:1].strip()]
    told = after[0].partition(": ")[2] if after else ""
    return WorkerText(head[1], int(head[2]), frames, told[:300])
