"""A loss function that was running when the script crashed, and how the user called it."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import place_text, user_frame
from torch_debugger.checks.explainers.calls import argument_of, one_line, rewritten
from torch_debugger.checks.explainers.dtypes.casts import is_floating, is_whole
from torch_debugger.checks.explainers.expressions import Line
from torch_debugger.checks.explainers.statements import is_plain, statement_at, written_call
from torch_debugger.records import CrashFact, CrashFrame, Edit, LocalTensor

CLASS_LOSSES = ("cross_entropy", "nll_loss")
EQUAL_LOSSES = (
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss", "smooth_l1_loss",
    "huber_loss",
)  # fmt: skip


STRICT = ("binary_cross_entropy", "binary_cross_entropy_with_logits")  # they want one dtype on both sides


@dataclass(frozen=True, slots=True)
class LossCall:
    """What a loss was given, under the user's own names where its call is plain to read."""

    function: str
    input: LocalTensor
    target: LocalTensor
    call: str | None  # criterion(logits, y)
    input_name: str
    target_name: str
    unparsed: str = ""  # the call as ast.unparse writes it
    weight: LocalTensor | None = None

    def text(self, crash: CrashFact) -> str:
        """`criterion(logits, y)` at train.py:20"""
        return f"`{self.call or self.function}` at {place_text(crash.place)}"

    def change(self, crash: CrashFact, position: int, pattern: str) -> tuple[str, Edit | None]:
        """The call with one argument written in another form, as text and as an edit."""
        name = (self.input_name, self.target_name)[position]
        statement = statement_at(crash, crash.place)
        call = written_call(statement.whole.code or "", self.unparsed) if self.unparsed else None
        argument = argument_of(call or "", position, ("input", "target")[position])
        if argument is None or not is_plain(argument):
            return f"give it `{pattern.format(name)}`", None
        changed = argument.replaced(pattern.format(argument.text))
        return f"write `{one_line(changed)}`", rewritten(statement.whole, argument.call, changed)


def swapped(call: LossCall) -> bool:
    """Class numbers given first and scores second."""
    scores, numbers = call.target, call.input
    return is_whole(numbers.dtype) and is_floating(scores.dtype) and scores.shape[:1] == numbers.shape


def loss_call(crash: CrashFact) -> LossCall | None:
    """The innermost frame of a loss function of torch's, if the user's line called it."""
    for frame in reversed(crash.frames):
        if frame.user:
            return None
        held = {tensor.name: tensor for tensor in frame.tensors}
        if frame.function in CLASS_LOSSES + EQUAL_LOSSES and "input" in held and "target" in held:
            return _named(crash, frame, held)
    return None


def _named(crash: CrashFact, frame: CrashFrame, held: dict[str, LocalTensor]) -> LossCall:
    given, target, weight = held["input"], held["target"], held.get("weight")
    user = user_frame(crash)
    line, node = Line(user) if user else None, None
    if line is not None:
        node = next((item for item in line.nodes() if _is_call(crash, frame, line, item)), None)
    if line is None or not isinstance(node, ast.Call):
        return LossCall(frame.function, given, target, None, "input", "target", weight=weight)
    names = [line.source(argument) for argument in node.args[:2]]
    return LossCall(
        frame.function, given, target, line.source(node), names[0], names[1], ast.unparse(node), weight
    )


def _is_call(crash: CrashFact, frame: CrashFrame, line: Line, node: ast.expr) -> bool:
    """The call that raised; where Python does not tell which that is, one of the loss's name."""
    if not isinstance(node, ast.Call) or len(node.args) < 2:
        return False
    wanted = {frame.function, *((crash.layer.path or "").split(".")[-1:] if crash.layer else ())}
    return bool(line.failing) or _last_name(node.func) in wanted


def _last_name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
