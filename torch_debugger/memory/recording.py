"""`torch_debugger.memory.record()`: while it is on, the line of every allocation is noted."""

from __future__ import annotations

from contextlib import ContextDecorator
from types import TracebackType

import torch

from torch_debugger.anatomy.frames import user_frame
from torch_debugger.memory import taking
from torch_debugger.memory.snapshots import Snapshot
from torch_debugger.memory.stats import Stats
from torch_debugger.profiling.storage_lines import StorageLines
from torch_debugger.saying import say

_MOST_EVENTS = 100_000


class record(ContextDecorator):  # noqa: N801  a context manager that is also a decorator, as torch's are
    """Notes which line makes what, for the snapshots that are taken inside; also a decorator.

        with torch_debugger.memory.record() as recording:
            train(model)
        print(recording)                       # the memory at the end of the block
        recording.last.save("memory.json")

    With CUDA it switches on torch's own history with Python stacks (about 2 us an allocation, the last
    `max_entries` events are kept), and off again if it was off before. On the CPU, or with `cpu=True`, an
    operation takes about 10 us longer, and only the thread that entered the block is seen.
    """

    last: Snapshot | None = None  # of the end of the block; None before

    def __init__(self, *, max_entries: int = _MOST_EVENTS, cpu: bool | None = None) -> None:
        self._max_entries = max_entries
        self._cpu = cpu
        self._lines: StorageLines | None = None
        self._switched = False

    def __enter__(self) -> record:
        on_cuda = torch.cuda.is_available()
        if on_cuda and not _history_is_on():
            torch.cuda.memory._record_memory_history(max_entries=self._max_entries, stacks="python")
            self._switched = True
        if self._cpu or (self._cpu is None and not on_cuda):
            self._lines = StorageLines()
            self._lines.__enter__()
            taking.active.append(self._lines)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.last = taking.taken(user_frame(2))
        except RuntimeError as fault:  # a device that has failed answers nothing; the user's exception goes on
            say(f"No memory snapshot was taken at the end of the block: {fault}")
        finally:
            self._switch_off()

    def _switch_off(self) -> None:
        if self._lines is not None:
            taking.active.remove(self._lines)
            self._lines.__exit__(None, None, None)
            self._lines = None
        if self._switched:
            torch.cuda.memory._record_memory_history(enabled=None)
            self._switched = False

    def stats(self) -> Stats | None:
        """Of the end of the block."""
        return self.last.stats() if self.last is not None else None

    def __str__(self) -> str:
        return str(self.last) if self.last is not None else "the block is not over yet"


def _history_is_on() -> bool:
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]  # asking then ends the process
        return False
    asked = getattr(torch._C, "_cuda_isHistoryEnabled", None)  # torch 2.4 and newer
    return bool(asked()) if asked is not None else False
