"""Stops in a frame of the user's: pdb or their debugger where there is a terminal, else a few printed lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any

from torch_debugger.breakpoints.debuggers import NoStopError, call_in, has_terminal, named_debugger
from torch_debugger.breakpoints.prompt import HELP, TensorPdb
from torch_debugger.breakpoints.telling import place_in_words, tensor_lines, variables_of
from torch_debugger.saying import say


def stop_at(frame: FrameType, reason: str, names: Mapping[str, Any]) -> None:
    """Stop in this frame with `names` at hand; without a terminal, print what there is and go on.

    stop_at(frame, "the loss is NaN at step 3", {"module": net.fc1, "output": output})
    """
    stop(frame, reason, names)


def stop(
    frame: FrameType, reason: str, names: Mapping[str, Any], off: Callable[[], None] | None = None
) -> bool:
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
    elif not has_terminal():
        say("--pdb needs a terminal, and stdin or stdout is none: there is no post-mortem.")
    else:
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
    return {
        f"_{name}" if name in taken and taken[name] is not value else name: value
        for name, value in names.items()
    }
