"""TD958: something that is no tensor was used like one."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.odd_values import explain_odd_value
from torch_debugger.checks.explainers.crash_check import CrashCheck


class NotATensor(CrashCheck):
    """Something that is no tensor reached a layer, a loss or a tensor's method.

    Symptom:
        "linear(): argument 'input' must be Tensor, not tuple", "'NoneType' object has no attribute 'size'",
        "'tuple' object has no attribute 'view'", "tuple indices must be integers or slices, not tuple".
    Evidence:
        The value itself, from the frames; the line that made it; and what the function or `forward` that made
        it returns, from its source: a recurrent layer's pair, a tuple, or nothing at all.
    Fix:
        Take the tuple apart (`out, _ = self.lstm(x)`), add the missing `return`, convert arrays and lists,
        or choose the field that is meant.
    Known limits:
        A None is explained only where the function that gave it can be seen to return nothing. Of several
        tensors in a container the one that is meant is a guess, and told as such.
    """

    id = "TD958"
    name = "not-a-tensor"
    title = "something that is no tensor was used like one"
    explainers = (explain_odd_value,)
