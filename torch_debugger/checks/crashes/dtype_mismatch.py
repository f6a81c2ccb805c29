"""TD902: a tensor of the wrong dtype."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.explainers.blame import first_of
from torch_debugger.checks.explainers.layer_dtypes import explain_layer_dtypes
from torch_debugger.checks.explainers.loss_dtypes import explain_loss_dtypes
from torch_debugger.checks.explainers.operand_dtypes import explain_operand_dtypes
from torch_debugger.checks.state import RunState
from torch_debugger.records import CrashFact, Finding, Record

_EXPLAINERS = (explain_layer_dtypes, explain_loss_dtypes, explain_operand_dtypes)


class DtypeMismatch(Check):
    """A layer, loss or operator was given a tensor of the wrong dtype.

    Symptom:
        The script stops with an error about types: "mat1 and mat2 must have the same dtype",
        "expected scalar type Long but found Float", "Found dtype Long but expected Float".
    Evidence:
        The dtypes of the tensors in the frames of the traceback, compared with the layer's weights or
        with what the function takes. The exception's message alone is not enough.
    Fix:
        Convert the odd tensor where it comes in: `.float()` for inputs and regression targets,
        `.long()` for class numbers and indices, `.bool()` for masks.
    Known limits:
        Operators are read from one statement. Which of two tensors is the odd one is a judgement:
        float32, torch's default, is taken for the right one.
    """

    id = "TD902"
    name = "dtype-mismatch"
    title = "a tensor has the wrong dtype"
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
