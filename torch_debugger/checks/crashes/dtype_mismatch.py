"""TD902: a tensor of the wrong dtype."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.dtypes.layer_dtypes import explain_layer_dtypes
from torch_debugger.checks.explainers.dtypes.loss_dtypes import explain_loss_dtypes
from torch_debugger.checks.explainers.dtypes.operand_dtypes import explain_operand_dtypes


class DtypeMismatch(CrashCheck):
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
    explainers = (
        explain_layer_dtypes,
        explain_loss_dtypes,
        explain_operand_dtypes,
    )
