"""TD916: backward from something that is no single number."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.unreduced_loss import explain_unreduced
from torch_debugger.checks.explainers.crash_check import CrashCheck


class LossNotScalar(CrashCheck):
    """backward() was called on a tensor of many numbers, or was given a gradient of another shape.

    Symptom:
        "grad can be implicitly created only for scalar outputs", or "Mismatch in shape: grad_output[0] ...".
    Evidence:
        The shape of the tensor that backward was called on, the line that made it, and the constructor or call
        with `reduction='none'` where there is one.
    Fix:
        Take the mean or the sum before backward, or let the loss do it.
    Known limits:
        Whether mean or sum is meant is your choice; the mean is proposed, as torch's losses take it.
    """

    id = "TD916"
    name = "loss-not-scalar"
    title = "backward was called on more than one number"
    explainers = (explain_unreduced,)
