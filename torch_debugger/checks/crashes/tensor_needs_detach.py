"""TD914: a tensor with a graph where only values can go."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.attached_tensors import explain_attached
from torch_debugger.checks.explainers.crash_check import CrashCheck


class TensorNeedsDetach(CrashCheck):
    """A tensor that requires grad was turned into an array, deep-copied or sent to another process.

    Symptom:
        "Can't call numpy() on Tensor that requires grad", "Only Tensors created explicitly by the user support
        the deepcopy protocol", "Cowardly refusing to serialize non-leaf tensor which requires_grad".
    Evidence:
        The tensor itself, from the frame that refused it, and the variable, list or attribute that holds it.
    Fix:
        `.detach()` before it leaves torch; `.item()` where numbers are collected.
    Known limits:
        A tensor deep inside nested objects is told without the line that put it there.
    """

    id = "TD914"
    name = "tensor-needs-detach"
    title = "a tensor with a graph was given where only values can go"
    explainers = (explain_attached,)
