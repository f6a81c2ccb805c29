"""`torch_debugger.syncs()`: the lines of a block at which the host waits for the GPU."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from contextlib import ContextDecorator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import torch

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.anatomy.sources import place_at
from torch_debugger.records import Place
from torch_debugger.report.printable import one_line
from torch_debugger.report.source import shown_path
from torch_debugger.saying import say

_TOLD = "called a synchronizing CUDA operation"  # how torch begins its warning
_WARN = 1
_MOST_SHOWN = 12


@dataclass(frozen=True, slots=True)
class SyncPlace:
    """A line, and how often the host waited there."""

    place: Place
    count: int


class syncs(ContextDecorator):  # noqa: N801  a context manager that is also a decorator, as torch's are
    """Which lines make the host wait for the GPU: `.item()`, `.cpu()`, `print(tensor)`, masks, `nonzero`.

        with torch_debugger.syncs() as waits:
            train_step(batch)
        waits.found[0].place, waits.found[0].count

    torch's own `torch.cuda.set_sync_debug_mode("warn")` is on inside and put back at the end; its warnings are
    counted by your lines instead of shown. The lines are printed on stderr at the end, unless `quiet=True`. A
    wait costs some microseconds more. torch does not see all of them: not those of `torch.cuda.synchronize()`,
    of events, or of torch.distributed.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._counts: dict[tuple[str, int], int] = {}
        self._before = 0
        self._listened = False
        self._warnings: warnings.catch_warnings[Any] | None = None
        self._show: Callable[..., Any] = warnings.showwarning

    def __enter__(self) -> syncs:
        self._counts = {}
        if not torch.cuda.is_available():
            say("torch_debugger.syncs() does nothing here: this torch sees no CUDA device to wait for.")
            return self
        self._listened = True
        self._before = torch.cuda.get_sync_debug_mode()
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.filterwarnings("always", message=_TOLD)
        self._show = warnings.showwarning
        warnings.showwarning = self._take  # type: ignore[assignment]
        torch.cuda.set_sync_debug_mode(_WARN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._warnings is None:
            return
        torch.cuda.set_sync_debug_mode(self._before)
        self._warnings.__exit__(None, None, None)  # with it, showwarning is the one from before
        self._warnings = None
        if not self._quiet:
            say(str(self))

    @property
    def found(self) -> tuple[SyncPlace, ...]:
        """The most frequent first."""
        places = [SyncPlace(_place(*line), count) for line, count in self._counts.items()]
        return tuple(sorted(places, key=lambda each: -each.count))

    def __str__(self) -> str:
        total = sum(self._counts.values())
        if not self._listened:
            return "This torch sees no CUDA device: there is nothing that the host could wait for."
        if not total:
            return "The host waited for the GPU nowhere in this block, as far as torch tells."
        times = "once" if total == 1 else f"{total:,} times"
        lines = [
            f"  {each.count:>6,} x  {_spot(each.place)}  {one_line(each.place.code or '')}"
            for each in self.found[:_MOST_SHOWN]
        ]
        rest = len(self._counts) - _MOST_SHOWN
        more = [f"  and at {rest:,} more lines"] if rest > 0 else []
        return "\n".join([f"The host waited for the GPU {times}:", *lines, *more])

    def _take(self, message: Any, category: Any, filename: str, lineno: int, *others: Any) -> None:
        """In place of `warnings.showwarning`: while torch warns, the line that waited is still running."""
        if not str(message).startswith(_TOLD):
            self._show(message, category, filename, lineno, *others)
            return
        frame = user_frame(2)
        line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        self._counts[line] = self._counts.get(line, 0) + 1


def _place(file: str, line: int) -> Place:
    return place_at(file, line) if file else Place()


def _spot(place: Place) -> str:
    return (
        one_line(f"{shown_path(place.file, os.getcwd())}:{place.line}")
        if place.file
        else "outside of your code"
    )
