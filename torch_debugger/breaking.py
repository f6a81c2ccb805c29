"""Breakpoints that know tensors, from code: `break_when` and `break_on_shape`.

torch_debugger.break_when("nan(output)", at="encoder.*")
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import EllipsisType
from typing import TYPE_CHECKING

from torch_debugger.breakpoints.breakpoint import Breakpoint
from torch_debugger.breakpoints.conditions import parse_condition
from torch_debugger.breakpoints.setting import set_breakpoint
from torch_debugger.errors import UsageError
from torch_debugger.integrations.program import caller

if TYPE_CHECKING:
    from torch import nn

    from torch_debugger.breakpoints.asking import Watch

Shape = Sequence[int | EllipsisType | None]


def break_when(condition: str, at: str | None = None, *, model: nn.Module | None = None) -> Breakpoint:
    """Stop with pdb in your frame when the condition holds; the handle's `.remove()` takes it off.

        torch_debugger.break_when("nan(output)", at="encoder.*")  # any module of the encoder that gives NaN
        torch_debugger.break_when("norm(grad) > 100")  # the gradient that comes back to any module's output
        torch_debugger.break_when("step == 500")
        with torch_debugger.break_when("max(abs(weight)) > 10 or loss > 5", model=net):
            train(net)

    Names: input, output, grad, weight, bias, module (its class), path, training, step (from 1), loss.
    Functions: nan, inf, finite, any, all, norm, min, max, mean, std, sum, zeros (their share), abs, shape,
    dim, numel, len, dtype, device, parameter('name'). `at` is a glob over module paths; the model's own name
    may be left out. `model` keeps to the modules of one model. Without a terminal the first stop is printed,
    and the run goes on.
    """
    return set_breakpoint(parse_condition(condition), at, _current_watch, model, caller())


def break_on_shape(
    shape: Shape | None = None,
    at: str | None = None,
    *,
    other_than: Shape | None = None,
    model: nn.Module | None = None,
) -> Breakpoint:
    """Stop when a module's output has this shape, or, with `other_than`, any shape but this.

        torch_debugger.break_on_shape((1, ...), at="head")  # a batch of one reaches the head
        torch_debugger.break_on_shape(other_than=(None, 128), at="encoder")

    `None` fits any size and `...` any number of sizes. The same as
    `break_when("shape(output) == (1, ...)")` and `break_when("shape(output) != (None, 128)")`.
    """
    wanted = shape if other_than is None else other_than
    if wanted is None or (shape is not None and other_than is not None):
        raise UsageError("break_on_shape takes one shape: break_on_shape((1, ...)) or other_than=(None, 128).")
    sizes = "".join(f"{'...' if size is ... else size}, " for size in wanted)
    symbol = "==" if other_than is None else "!="
    return set_breakpoint(
        parse_condition(f"shape(output) {symbol} ({sizes})"), at, _current_watch, model, caller()
    )


def _current_watch() -> Watch | None:
    """Whoever watches this process counts its steps; nobody does where the probes are not even loaded."""
    plumbing = sys.modules.get("torch_debugger.plumbing")
    return plumbing.current_watch() if plumbing is not None else None
