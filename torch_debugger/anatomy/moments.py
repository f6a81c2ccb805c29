"""A frame of the user's at one moment: its line and its variables, which the frame itself goes on to change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch

from torch_debugger.anatomy.frames import locals_of
from torch_debugger.anatomy.kinds import is_a


@dataclass(frozen=True)
class Moment:
    file: str
    line: int
    function: str  # <module> outside of any
    own: Mapping[str, Any]  # the frame's variables
    around: Mapping[str, Any]  # those of its file

    @property
    def variables(self) -> dict[str, Any]:
        return {**self.around, **self.own}


def moment_of(frame: FrameType) -> Moment:
    code = frame.f_code
    return Moment(code.co_filename, frame.f_lineno, code.co_name, locals_of(frame), frame.f_globals)


def moment_without_graphs(frame: FrameType) -> Moment:
    """Without the tensors that hold on to a graph: a step's activations must not outlive it."""
    code = frame.f_code
    kept = {
        name: value
        for name, value in locals_of(frame).items()
        if not is_a(value, torch.Tensor) or value.grad_fn is None
    }
    return Moment(code.co_filename, frame.f_lineno, code.co_name, kept, frame.f_globals)
