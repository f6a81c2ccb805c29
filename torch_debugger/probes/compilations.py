"""What torch.compile compiled since the last step, and why it did so again: by its own list of them."""

from __future__ import annotations

import re
import sys
from typing import Any

from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Compilation, Place

_PART = re.compile(r"torch_dynamo_resume_in_(?P<function>.+)_at_(?P<line>\d+)")
_FILE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_MOST = 200  # told in a run


class Compilations:
    """Listens to steps once something is compiled; asks a list of at most 64 entries whether it has grown."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._last: Any = None
        self._told = 0

    def step_done(self, step: int, scalars: dict[str, float]) -> None:
        self.watch.probe("compilations", self._look, step)

    def _look(self, step: int) -> None:
        dynamo = sys.modules.get("torch._dynamo.utils")
        listed: list[Any] = getattr(dynamo, "get_compilation_metrics", list)()
        if not listed or listed[-1] is self._last:
            return
        known = next((place for place, each in enumerate(listed) if each is self._last), -1)
        self._last = listed[-1]
        for each in listed[known + 1 :]:
            found = _read(each, step)
            if found is not None and self._told < _MOST:
                self._told += 1
                self.watch.emit(found)


def _read(metrics: Any, step: int) -> Compilation | None:
    """None for the compilation of a backward, which has no function of the user's."""
    frame, _, again = str(getattr(metrics, "compile_id", "") or "").rpartition("]")[2].partition("/")
    seconds = getattr(metrics, "entire_frame_compile_time_s", None)
    if seconds is None or not frame.isdecimal():
        return None
    failure = str(getattr(metrics, "fail_reason", "") or "")
    reason = failure or str(getattr(metrics, "recompile_reason", "") or "") or _restart(metrics)
    function, file = getattr(metrics, "co_name", None) or "", getattr(metrics, "co_filename", None) or ""
    part = _PART.fullmatch(function)
    line = int(part["line"]) if part else getattr(metrics, "co_firstlineno", None) or 0
    return Compilation(
        frame=int(frame),
        again=int(again.partition("_")[0] or 0),
        function=part["function"] if part else function,
        place=place_at(file, line) if file and is_user_file(file) else Place(),
        is_part=part is not None,
        seconds=float(seconds),
        reason=_first_line(str(getattr(metrics, "recompile_reason", "") or "") or reason),
        reason_place=_named_place(reason),
        given_up=bool(failure),
        step=step,
    )


def _restart(metrics: Any) -> str:
    """Why the tracing of it began anew: most often a line that cannot be traced."""
    return "\n".join(sorted(map(str, getattr(metrics, "restart_reasons", None) or ())))


def _first_line(reason: str) -> str:
    """0/1: self.calls == 1     # self.calls += 1 -> self.calls == 1"""
    first = reason.strip().partition("\n")[0]
    return re.sub(r"^\d+/\d+: ", "", first).partition("  #")[0].partition(" (HINT")[0].strip()[:200]


def _named_place(reason: str) -> Place:
    named = [(found["file"], int(found["line"])) for found in _FILE.finditer(reason)]
    inside = [each for each in named if is_user_file(each[0])]
    return place_at(*inside[-1]) if inside else Place()
