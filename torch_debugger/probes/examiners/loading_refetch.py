"""Samples fetched once more in a fork: which of them raise, end the process or take too long, and where.

A fork is what a worker is too: whatever the dataset does there, this process never sees it.
"""

from __future__ import annotations

import binascii
import faulthandler
import os
import pickle
import re
import select
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import walk_traceback
from torch_debugger.probes.examiners.loading_forms import Form, form_of
from torch_debugger.probes.examiners.loading_raised import describe_raised
from torch_debugger.records import Place
from torch_debugger.records.evidence.loading import Raised

_LIMIT_S = 0.6
_STACK = re.compile(r'^  File "(.+)", line (\d+) in ', re.MULTILINE)


@dataclass
class Refetched:
    """What became of the samples, in the order they were asked for."""

    forms: list[tuple[int, Form]] = field(default_factory=list)
    raised: list[tuple[int, Raised]] = field(default_factory=list)
    stuck: int | None = None  # asked for and never answered
    died: bool = False  # the fork ended by itself at that sample
    place: Place = field(default_factory=Place)  # where it was then

    @property
    def looked_at(self) -> int:
        return len(self.forms) + len(self.raised)


def fetch_again(dataset: Any, indices: Iterable[int], limit_s: float = _LIMIT_S) -> Refetched:
    if not hasattr(os, "fork"):
        return Refetched()
    reading, writing = os.pipe()
    task = ForkedTask(lambda: _fetch_all(dataset, indices, writing, limit_s), limit_s + 1.0, urgent=True)
    os.close(writing)
    text, ended = _read_until(reading, time.monotonic() + limit_s)
    os.close(reading)
    task.kill()
    return _told(text.decode(errors="replace"), ended)


def _fetch_all(dataset: Any, indices: Iterable[int], writing: int, limit_s: float) -> str:
    faulthandler.enable(writing)
    faulthandler.dump_traceback_later(limit_s * 0.7, file=writing)
    leave = os._exit
    vars(os)["_exit"] = _telling_exit(leave, writing)
    for index in indices:
        os.write(writing, f"?{index}\n".encode())
        os.write(writing, _line(_fetch(dataset, index)))
    vars(os)["_exit"] = leave
    return "done"


def _telling_exit(leave: Callable[[int], NoReturn], writing: int) -> Callable[[int], NoReturn]:
    """os._exit that first says from where it is called; only the fork ever has it."""

    def _exit(status: int) -> NoReturn:
        faulthandler.dump_traceback(writing)
        leave(status)

    return _exit


def _fetch(dataset: Any, index: int) -> Form | Raised:
    try:
        return form_of(dataset[index])
    except BaseException as error:  # SystemExit too: it ends a worker
        return describe_raised(error, walk_traceback(error.__traceback__))


def _line(result: Form | Raised) -> bytes:
    return b"=" + binascii.hexlify(pickle.dumps(result)) + b"\n"


def _read_until(reading: int, deadline: float) -> tuple[bytes, bool]:
    """What the fork wrote by then, and whether it closed its end."""
    text = b""
    while (left := deadline - time.monotonic()) > 0:
        if select.select([reading], [], [], left)[0]:
            chunk = os.read(reading, 65536)
            text += chunk
            if not chunk:
                return text, True
    return text, False


def _told(text: str, ended: bool) -> Refetched:
    found = Refetched()
    for line in text.splitlines():
        if line.startswith("?"):
            found.stuck = int(line[1:])
        elif line.startswith("=") and found.stuck is not None:
            result = pickle.loads(binascii.unhexlify(line[1:]))
            kept: list[Any] = found.raised if is_a(result, Raised) else found.forms
            kept.append((found.stuck, result))
            found.stuck = None
    found.died = found.stuck is not None and ended
    found.place = _user_line(text) if found.stuck is not None else Place()
    return found


def _user_line(stack: str) -> Place:
    for file, line in _STACK.findall(stack):
        if is_user_file(file):
            return place_at(file, int(line))
    return Place()
