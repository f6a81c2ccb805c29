"""TD969: None was used where a tensor was meant."""

from __future__ import annotations

from torch_debugger.checks.explainers.absent_values import explain_absent_value
from torch_debugger.checks.explainers.crash_check import CrashCheck


class NoneForTensor(CrashCheck):
    """Something that should be a tensor is None, most often a `.grad`.

    Symptom:
        "'NoneType' object has no attribute 'norm'", "unsupported operand type(s) for *: 'float' and
        'NoneType'", "Got <class 'NoneType'>, but numpy array or torch tensor are expected" of `add_histogram`.
    Evidence:
        The expression of your line that is None. Of a gradient: which parameter of which model, whether it is
        frozen, whether the other parameters have gradients (then the loss does not lead to it), whether a
        `zero_grad()` stands between the backward and this line. Of an attribute: the line that set it to None
        and the lines that would give it a value. Of a hook: that it was called by autograd.
    Fix:
        By the reason: use the layer or leave it out, read gradients before they are cleared,
        `retain_grad()`, `requires_grad_()`, or ask for None first.
    Known limits:
        Only expressions that can be looked up without running code of yours are traced: names, attributes,
        entries and gradients.
    """

    id = "TD969"
    name = "none-for-tensor"
    title = "None where a tensor was meant"
    explainers = (explain_absent_value,)
