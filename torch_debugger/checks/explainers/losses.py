"""A loss function that was running when the script crashed, and how the user called it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import place_text, user_frame
from torch_debugger.checks.explainers.calls import argument_of, rewritten
from torch_debugger.checks.explainers.expressions import Line
from torch_debugger.records import CrashFact, CrashFrame, Edit, LocalTensor

CLASS_LOSSES = ("cross_entropy", "nll_loss")
EQUAL_LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
    "huber_loss",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class LossCall:
    """What a loss was given, under the user's own names where its call is plain to read."""

    function: str
    input: LocalTensor
    target: LocalTensor
    call: str | None  # criterion(logits, y)
    input_name: str
    target_name: str

    def text(self, crash: CrashFact) -> str:
        """`criterion(logits, y)` at train.py:20"""
        return f"`{self.call or self.function}` at {place_text(crash.place)}"

    def change(self, crash: CrashFact, position: int, pattern: str) -> tuple[str, Edit | None]:
        """The call with one argument written in another form, as text and as an edit."""
        name = (self.input_name, self.target_name)[position]
        argument = argument_of(self.call or "", position, ("input", "target")[position])
        if argument is None:
            return f"give it `{pattern.format(name)}`", None
        changed = argument.replaced(pattern.format(argument.text))
        return f"write `{changed}`", rewritten(crash.place, argument.call, changed)


def loss_call(crash: CrashFact) -> LossCall | None:
    """The innermost frame of a loss function of torch's, if the user's line called it."""
    for frame in reversed(crash.frames):
        if frame.user:
            return None
        held = {tensor.name: tensor for tensor in frame.tensors}
        if frame.function in CLASS_LOSSES + EQUAL_LOSSES and "input" in held and "target" in held:
            return _named(crash, frame, held["input"], held["target"])
    return None


def _named(crash: CrashFact, frame: CrashFrame, given: LocalTensor, target: LocalTensor) -> LossCall:
    user = user_frame(crash)
    wanted = {frame.function, *((crash.layer.path or "").split(".")[-1:] if crash.layer else ())}
    line = Line(user) if user else None
    for node in line.nodes() if line else ():
        if line and isinstance(node, ast.Call) and _last_name(node.func) in wanted and len(node.args) >= 2:
            names = [line.source(argument) for argument in node.args[:2]]
            return LossCall(frame.function, given, target, line.source(node), names[0], names[1])
    return LossCall(frame.function, given, target, None, "input", "target")


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
