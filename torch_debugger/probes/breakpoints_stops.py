"""One breakpoint: a condition, the modules it is about, and what has come of it."""

from __future__ import annotations

import bdb
import fnmatch
import importlib
import os
import pdb
import sys
import weakref
from collections import ChainMap
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.nested_tensors import named_leaves, tensors_in
from torch_debugger.source.breakpoint_conditions import PER_CALL, Condition
from torch_debugger.source.files import is_user_file
from torch_debugger.source.frames import is_ours
from torch_debugger.stats.values import take_stats
from torch_debugger.system.program import say


class Breakpoint:
    """The handle of a breakpoint: `.remove()` takes it off, and so does the end of its `with` block."""

    def __init__(
        self,
        condition: Condition,
        at: str | None,
        model: nn.Module | None,
        take_off: Callable[[Breakpoint], None],
    ) -> None:
        self.condition = condition
        self.at = at
        self.moment = moment_of(condition, at)
        self.hits = 0  # how often the condition held
        self.removed = False
        self.stops = True  # False once there was no terminal to stop at: then hits are counted
        self.matched = False  # whether any module is meant by it
        self.last_step = 0  # in which it held; conditions on the step alone hold once a step
        self._model = weakref.ref(model) if model is not None else None
        self._take_off = take_off

    def __str__(self) -> str:
        return f"{self.condition.text} @ {self.at}" if self.at is not None else self.condition.text

    def __repr__(self) -> str:
        state = "removed" if self.removed else "set"
        return f"<breakpoint `{self}` {state}, {self.hits} hits>"

    def remove(self) -> None:
        if not self.removed:
            self.removed = True
            self._take_off(self)

    def __enter__(self) -> Breakpoint:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()

    def is_about(self, module: nn.Module, path: str) -> bool:
        """`encoder.*` means net.encoder.0 too: the model's own name may be left out."""
        if self._model is not None:
            model = self._model()
            if model is None or not any(part is module for part in model.modules()):
                return False
        inside = path.partition(".")[2]
        glob = self.at
        found = glob is None or any(fnmatch.fnmatchcase(name, glob) for name in (path, inside) if name)
        self.matched = self.matched or found
        return found


# When a condition is asked: at the moment at which all that it names is there.
class StopMoment(Enum):
    STEP = "at the first call of a model in a step"
    CALL = "when a module is called"
    RETURN = "when a module has returned"
    GRADIENT = "when the gradient of a module's output is there"
    LOSS = "when backward() is called"


def moment_of(condition: Condition, at: str | None) -> StopMoment:
    """The latest of what is named decides; `step` and `loss` are known at all times."""
    names = condition.names
    if "grad" in names:
        return StopMoment.GRADIENT
    if "output" in names:
        return StopMoment.RETURN
    if names & PER_CALL or at is not None:
        return StopMoment.CALL
    return StopMoment.LOSS if "loss" in names else StopMoment.STEP


# Stops in a frame of the user's: pdb or their debugger where there is a terminal, else a few printed lines.
def stop_at(frame: FrameType, reason: str, names: Mapping[str, Any]) -> None:
    """Stop in this frame with `names` at hand; without a terminal, print what there is and go on.

    stop_at(frame, "the loss is NaN at step 3", {"module": net.fc1, "output": output})
    """
    stop(frame, reason, names)


def stop(frame: FrameType, reason: str, names: Mapping[str, Any], off: Callable[[], None] | None = None) -> bool:
    """As `stop_at`, and whether it did stop; `off` is what the prompt's command of that name does."""
    try:
        debugger = named_debugger()
    except NoStopError as why:
        say(_report(frame, reason, names, f"Not stopped: {why}."))
        return False
    at_hand = _free_names(frame, names)
    if debugger is None:
        commands = HELP.format(off="off (this breakpoint), " if off is not None else "")
        say(_report(frame, reason, at_hand, _own_step(names, at_hand) + commands))
        TensorPdb(at_hand, off).stop(frame)
    else:
        say(_report(frame, reason, at_hand, _own_step(names, at_hand) + f"At hand: {', '.join(at_hand)}."))
        call_in(frame, debugger, at_hand)
    return True


def post_mortem(traceback: TracebackType | None) -> None:
    """pdb in the user's innermost frame of a crash, once it has been told."""
    if traceback is None:
        say("--pdb: the crash left no frame to look into.")
        return
    try:
        _require_terminal()
    except NoStopError:
        say("--pdb needs a terminal, and stdin or stdout is none: there is no post-mortem.")
        return
    say("post-mortem of the crash. Commands: tensors (all of this frame), describe x, u, d, q (quit).")
    TensorPdb({}).post_mortem(traceback)


def _report(frame: FrameType, reason: str, names: Mapping[str, Any], last: str) -> str:
    numbers = [f"{name}: {value:g}" for name, value in names.items() if isinstance(value, float)]
    lines = [f"{reason} ({place_in_words(frame)})", *tensor_lines(names), *numbers, last]
    return "\n  ".join(lines)


def _own_step(names: Mapping[str, Any], at_hand: Mapping[str, Any]) -> str:
    """A loop that counts from 0 calls `step` what is one more everywhere else."""
    if "_step" not in at_hand or "step" in at_hand:
        return ""
    return f"`step` here is the script's own; `_step` counts as the report does, from 1: {names['step']}. "


def _free_names(frame: FrameType, names: Mapping[str, Any]) -> dict[str, Any]:
    """Where the frame has an `output` of its own, ours is `_output`: a debugger must not hide a variable."""
    taken = {**frame.f_globals, **variables_of(frame)}
    return {f"_{name}" if name in taken and taken[name] is not value else name: value for name, value in names.items()}


# pdb with the tensors at hand: opens at a frame at once, knows `tensors`, `describe` and `off`.
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
        self.botframe = frame
        while self.botframe.f_back is not None:
            self.botframe = self.botframe.f_back
        before = sys.gettrace()
        sys.settrace(None)
        self.interaction(frame, None)
        if self.stoplineno == -1:  # `c`, which ends the stepping of an earlier stop too
            sys.settrace(None if isinstance(getattr(before, "__self__", None), TensorPdb) else before)
            return
        # For next, step, until, return: the events of the frame and of those around it come to us.
        traced: FrameType | None = frame
        while traced is not None:
            traced.f_trace = self.trace_dispatch
            traced = traced.f_back
        sys.settrace(self.trace_dispatch)

    def post_mortem(self, traceback: TracebackType) -> None:
        self._dead = True
        self.reset()
        self.interaction(None, traceback)

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

    def get_stack(self, f: FrameType | None, t: TracebackType | None) -> tuple[list[tuple[FrameType, int]], int]:
        """Without our frames and torch's module calls; a post-mortem begins in the user's innermost frame."""
        stack, index = super().get_stack(f, t)
        current, calls = stack[index][0], nn.Module._call_impl.__code__.co_filename
        machinery = [is_ours(frame) or frame.f_code.co_filename == calls for frame, _ in stack]
        kept = [entry for entry, ours in zip(stack, machinery, strict=True) if not ours or entry[0] is current]
        if t is None:
            return kept, max(place for place, entry in enumerate(kept) if entry[0] is current)
        users = [place for place, (frame, _) in enumerate(kept) if is_user_file(frame.f_code.co_filename)]
        return kept, users[-1] if users else len(kept) - 1

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


# Which debugger stops: pdb, what PYTHONBREAKPOINT names, or what an IDE has put into sys.breakpointhook.

# They talk to the user through the terminal; others (debugpy, remote debuggers) have their own way.
_ON_A_TERMINAL = ("pdb", "ipdb", "pudb", "IPython", "_pytest", "sys")

Debugger = Callable[[], Any]


class NoStopError(Exception):
    """No stop here, and why."""


def named_debugger() -> Debugger | None:
    """None for plain pdb; NoStopError where the environment says that nothing stops."""
    word = os.environ.get("PYTHONBREAKPOINT", "")
    if sys.breakpointhook is not sys.__breakpointhook__:
        debugger: Debugger = sys.breakpointhook
    elif word == "0":
        raise NoStopError("PYTHONBREAKPOINT is 0")
    elif word in ("", "pdb.set_trace"):
        _require_terminal()
        return None
    else:
        module, _, name = word.rpartition(".")
        try:
            debugger = getattr(importlib.import_module(module or "builtins"), name)
        except (ImportError, AttributeError, ValueError):
            raise NoStopError(f"PYTHONBREAKPOINT names {word}, which cannot be imported") from None
    home = str(getattr(debugger, "__module__", None) or "sys").split(".")[0]
    if home in _ON_A_TERMINAL:
        _require_terminal()
    return debugger


def _require_terminal() -> None:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if getattr(getattr(shell, "kernel", None), "_allow_stdin", False):
        return  # a notebook's kernel whose front end answers input(), as pdb asks it
    for name in ("stdin", "stdout"):
        try:
            is_terminal = bool(getattr(sys, f"__{name}__").isatty())
        except (AttributeError, ValueError, OSError):  # None, or closed
            is_terminal = False
        if not is_terminal:
            raise NoStopError(f"{name} is not a terminal")


def call_in(frame: FrameType, debugger: Debugger, names: Mapping[str, Any]) -> None:
    """Calls a debugger that stops in its caller: a frame on the user's line, with their variables."""
    variables = {**names, **variables_of(frame), "__debugger__": debugger}
    code = compile("\n" * (frame.f_lineno - 1) + "__debugger__()", frame.f_code.co_filename, "exec")
    try:
        exec(code.replace(co_name=frame.f_code.co_name), frame.f_globals, variables)
    except bdb.BdbQuit:
        say(f"quit at the prompt, {place_in_words(frame)}.")
        raise SystemExit(1) from None


# The sentences of a stop: what held, where, and the tensors in question, one line each.
def place_in_words(frame: FrameType) -> str:
    """train.py:24 in forward"""
    code = frame.f_code
    path, inside = code.co_filename, "" if code.co_name == "<module>" else f" in {code.co_name}"
    try:
        near = os.path.relpath(path)
    except (OSError, ValueError):  # no folder to be relative to, or another drive
        near = path
    return f"{path if near.startswith('..') else near}:{frame.f_lineno}{inside}"


def variables_of(frame: FrameType) -> dict[str, Any]:
    """Read as pdb reads them. Not by `locals_of`: what it clears, Python before 3.13 takes for the frame's own
    variables when a trace function returns, and the frame has lost them all."""
    return dict(frame.f_locals)


def tensor_lines(names: Mapping[str, Any]) -> list[str]:
    """One line for each tensor under these names: "output['logits']: float32 [64, 10] cpu  min 0  max 3.2"."""
    values = [(name, value) for name, value in names.items() if not isinstance(value, torch.nn.Module)]
    return [f"{name}{way}: {take_stats(tensor)}" for name, value in values for way, tensor in named_leaves(value)]


def summary(post: Breakpoint, known: Sequence[str]) -> str | None:
    """What there is to say of a breakpoint that is taken off, if anything."""
    if post.hits > 1 and not post.stops:
        return f"`{post}` held {post.hits:,} times."
    if post.at is not None and not post.matched:
        names = ", ".join(f"`{path}`" for path in known[:8]) or "none"
        more = f" and {len(known) - 8} more" if len(known) > 8 else ""
        return f"`{post}` was never asked: no module that was called fits `{post.at}`. Called were {names}{more}."
    return None
