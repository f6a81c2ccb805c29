"""TD913: a write in place that autograd forbids."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.written_leaves import explain_written_leaf
from torch_debugger.checks.explainers.crash_check import CrashCheck


class LeafModifiedInPlace(CrashCheck):
    """A statement wrote in place into a leaf that requires grad, or into a view that may not be written.

    Symptom:
        "a leaf Variable that requires grad is being used in an in-place operation", "a view of a leaf
        Variable ...", "Output 0 of UnbindBackward0 is a view and is being modified inplace".
    Evidence:
        The tensor that the line writes into, looked up in its frame: it is a leaf and requires grad, or it is
        one of several views, or it was made under no_grad or in inference mode.
    Fix:
        Set and update weights under `with torch.no_grad():`; in a forward make a new tensor.
    Known limits:
        Whether a write into a leaf outside of forward is meant as an update or as part of the computation is a
        judgement: an update is taken for granted.
    """

    id = "TD913"
    name = "leaf-modified-in-place"
    title = "a leaf or a shared view was written in place"
    explainers = (explain_written_leaf,)
