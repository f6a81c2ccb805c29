"""TD901: two shapes met that do not fit."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.blame import first_of
from torch_debugger.checks.explainers.conv_shapes import explain_conv
from torch_debugger.checks.explainers.elementwise_shapes import explain_elementwise
from torch_debugger.checks.explainers.join_shapes import explain_join
from torch_debugger.checks.explainers.linear_shapes import explain_linear
from torch_debugger.checks.explainers.loss_shapes import explain_loss_shapes
from torch_debugger.checks.explainers.norm_shapes import explain_norm
from torch_debugger.checks.explainers.product_shapes import explain_product
from torch_debugger.checks.explainers.sequence_shapes import explain_sequence
from torch_debugger.checks.explainers.view_shapes import explain_view
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, Finding, Record

_EXPLAINERS = (
    explain_linear, explain_conv, explain_norm, explain_sequence, explain_loss_shapes, explain_product,
    explain_elementwise, explain_join, explain_view,
)  # fmt: skip


class ShapeMismatch(Check):
    """Two shapes met that do not fit each other.

    Symptom:
        The script stops with an error about sizes: "mat1 and mat2 shapes cannot be multiplied",
        "expected input to have 3 channels", "The size of tensor a must match the size of tensor b".
    Evidence:
        The shapes in the frames of the traceback, compared with what the layer was built for or with
        each other; the line that constructs the layer; the shapes that flowed through the model up
        to the crash, from running its forward once more. The exception's message alone is not enough.
    Fix:
        Change the constructor's argument, or the form of the tensor, as the finding says; the line to
        edit and the numbers are filled in where they are plain.
    Known limits:
        Operators are read from one statement; an operand that is itself a long expression is not
        known. A size that comes from a variable is named, but no edit is offered. Compiled and very
        large models have no shape flow. An index out of range is not a matter of shape.
    """

    id = "TD901"
    name = "shape-mismatch"
    title = "two shapes met that do not fit each other"
    reads = (CrashFact,)

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if not isinstance(record, CrashFact):
            return
        blame = first_of(explain(record) for explain in _EXPLAINERS)
        if blame is not None:
            yield self.finding(
                severity="error",
                confidence=blame.confidence,
                message=blame.message,
                why=blame.why,
                fix=blame.fix,
                where=blame.where,
                first_step=record.step,
                last_step=record.step,
                evidence=blame.evidence,
                edit=blame.edit,
            )
