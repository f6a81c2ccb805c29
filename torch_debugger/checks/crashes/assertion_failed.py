"""TD968: a condition that the script itself asked for did not hold."""

from __future__ import annotations

from torch_debugger.checks.explainers.assertions import explain_assertion
from torch_debugger.checks.explainers.crash_check import CrashCheck


class AssertionFailed(CrashCheck):
    """An assert of the script's own failed, or a raise below an `if` ended it.

    Symptom:
        "AssertionError", with or without a text: `assert x.shape == (32, 10)`, `assert x.dim() == 4`,
        `if x.size(1) != 3: raise ValueError(...)`.
    Evidence:
        The parts of the condition, worked out again from the variables of the frame: which comparison does
        not hold, with both its values; of shapes which dimension; and the line that made the tensor.
    Fix:
        The call that would bring the shape into order, where one does: `permute`, `unsqueeze`, `reshape`. Else
        the line that made the value.
    Known limits:
        Nothing of yours is called to find out: a condition with calls other than those of tensors that only
        look is not worked out, and the crash goes to `unexplained-crash`.
    """

    id = "TD968"
    name = "assertion-failed"
    title = "a condition that the script asked for did not hold"
    explainers = (explain_assertion,)
