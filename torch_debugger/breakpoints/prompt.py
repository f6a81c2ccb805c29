"""pdb with the tensors at hand: opens at a frame at once, knows `tensors`, `describe` and `off`."""

from __future__ import annotations

import pdb
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any

from torch import nn

from torch_debugger.anatomy.frames import is_ours
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.breakpoints.telling import place_in_words, tensor_lines, variables_of
from torch_debugger.saying import say

HELP = "Commands: tensors (all of this frame), describe x, {off}c (go on), q (quit)."


class TensorPdb(pdb.Pdb):
    """`names` are at hand beside the frame's own variables, which come first."""

    def __init__(self, names: Mapping[str, Any], off: Callable[[], None] | None = None) -> None:
        # nosigint: after `c` Ctrl-C ends the script again, as it did before.
        super().__init__(nosigint=True)
        self._at_hand = dict(names)
        self._off = off
        self._file = ""  # of the frame that was stopped in
        self._dead = False  # a post-mortem: nothing goes on, nothing is stopped

    def stop(self, frame: FrameType) -> None:
        """The prompt, now, in this frame; returns when the user goes on, ends the script when they quit."""
        self.reset()
        self._file = frame.f_code.co_filename
        self.botframe = _outermost(frame)
        before = sys.gettrace()
        sys.settrace(None)
        self.interaction(frame, None)
        if self.stoplineno == -1:  # `c`, which ends the stepping of an earlier stop too
            sys.settrace(None if isinstance(getattr(before, "__self__", None), TensorPdb) else before)
        else:
            self._trace_from(frame)

    def post_mortem(self, traceback: TracebackType) -> None:
        self._dead = True
        self.reset()
        self.interaction(None, traceback)

    def _trace_from(self, frame: FrameType | None) -> None:
        """For next, step, until, return: the events of the frame and of those around it come to us."""
        while frame is not None:
            frame.f_trace = self.trace_dispatch
            frame = frame.f_back
        sys.settrace(self.trace_dispatch)

    # What pdb asks itself

    def stop_here(self, frame: FrameType) -> bool:
        """Stepping goes through the user's lines, not through our hooks and torch's calls of modules."""
        file = frame.f_code.co_filename
        return (file == self._file or is_user_file(file)) and super().stop_here(frame)

    @property
    def curframe_locals(self) -> Mapping[str, Any]:
        return ChainMap(self._locals, self._at_hand)

    @curframe_locals.setter
    def curframe_locals(self, values: Mapping[str, Any]) -> None:
        self._locals: Any = values

    def get_stack(
        self, f: FrameType | None, t: TracebackType | None
    ) -> tuple[list[tuple[FrameType, int]], int]:
        """Without our frames and torch's module calls; a post-mortem begins in the user's innermost frame."""
        stack, index = super().get_stack(f, t)
        current = stack[index][0]
        kept = [entry for entry in stack if not _is_machinery(entry[0]) or entry[0] is current]
        if t is not None:
            return kept, _users(kept)
        return kept, max(place for place, entry in enumerate(kept) if entry[0] is current)

    # Commands

    def do_tensors(self, arg: str) -> None:
        """tensors
        Describes every tensor of this frame, one line each."""
        own = {name: value for name, value in variables_of(self._frame()).items() if not name.startswith("__")}
        for line in tensor_lines({**own, **self._at_hand}) or ["There are no tensors in this frame."]:
            self.message(f"  {line}")

    def do_describe(self, arg: str) -> None:
        """describe expression
        Describes the tensors in the value of the expression."""
        if not arg:
            self.error("describe needs a tensor: describe output")
            return
        try:
            value = self._getval(arg)
        except Exception:  # pdb has shown it
            return
        if next(tensors_in(value), None) is None:
            self.message(f"  {arg} holds no tensor: it is of type {type(value).__name__}.")
        for line in tensor_lines({arg: value}):
            self.message(f"  {line}")

    def do_off(self, arg: str) -> bool | None:
        """off
        Takes this breakpoint off and goes on."""
        if self._off is None:
            self.error("There is no breakpoint to take off here.")
            return None
        self._off()
        return self.do_continue("")

    def do_quit(self, arg: str) -> bool | None:
        """q(uit)
        Ends the script with exit code 1; after a crash it ends with its own."""
        if self._dead:
            return super().do_quit(arg)
        sys.settrace(None)
        where = place_in_words(self._frame())
        say(f"quit at the prompt, {where}.")
        raise SystemExit(1)

    do_q = do_exit = do_quit

    def do_EOF(self, arg: str) -> bool | None:  # noqa: N802  as pdb calls it
        """EOF
        Ctrl-D quits."""
        self.message("")
        return self.do_quit(arg)

    def _frame(self) -> FrameType:
        frame = self.curframe
        assert frame is not None, "a command without a frame"
        return frame


def _is_machinery(frame: FrameType) -> bool:
    return is_ours(frame) or frame.f_code.co_filename == nn.Module._call_impl.__code__.co_filename


def _outermost(frame: FrameType) -> FrameType:
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def _users(stack: list[tuple[FrameType, int]]) -> int:
    places = [place for place, (frame, _) in enumerate(stack) if is_user_file(frame.f_code.co_filename)]
    return places[-1] if places else len(stack) - 1
