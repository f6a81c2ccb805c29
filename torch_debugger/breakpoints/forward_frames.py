"""The frames of forwards that the user wrote, while they are alive: at their first line and at their return.

A hook runs when `forward` has not begun or is over, and its variables are gone. A trace function
sees its frame. It is on only inside the modules that a breakpoint is about, hears of calls and not
of lines, and gives way to a debugger or coverage tool that traces already.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from torch import nn

from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.breakpoints.calls import Call, Calls


class ForwardFrames:
    def __init__(
        self,
        calls: Calls,
        begun: Callable[[Call, FrameType], None],
        done: Callable[[Call, FrameType, Any], None],
    ) -> None:
        self._calls = calls
        self._begun = begun
        self._done = done

    def expect(self, call: Call) -> bool:
        """Whether the call's forward will be seen."""
        tracer = sys.gettrace()
        if tracer is not None and tracer != self._trace:
            return False
        call.code = _user_code(call.module)
        if call.code is not None:
            sys.settrace(self._trace)
        return call.code is not None

    def ended(self) -> None:
        """A call is over: without an outer one to see, the trace goes off."""
        if sys.gettrace() == self._trace and not any(call.code for call in self._calls.stack):
            sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        stack = self._calls.stack
        if not stack or stack[-1].code is not frame.f_code or stack[-1].seen:
            return None
        call = stack[-1]
        call.seen = True
        frame.f_trace_lines = False
        self._begun(call, frame)
        if sys.gettrace() != self._trace:
            return frame.f_trace  # the user steps on from the prompt

        def hear(frame: FrameType, event: str, argument: Any) -> None:
            if event == "return":
                self._done(call, frame, argument)

        return hear


def _user_code(module: nn.Module) -> CodeType | None:
    forward = inspect.unwrap(module.forward)
    code = getattr(getattr(forward, "__func__", forward), "__code__", None)
    return code if isinstance(code, CodeType) and is_user_file(code.co_filename) else None
