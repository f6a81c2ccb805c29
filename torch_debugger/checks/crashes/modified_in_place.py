"""TD910: a tensor that backward needed was changed in place."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.overwritten import explain_overwritten
from torch_debugger.checks.explainers.crash_check import CrashCheck


class ModifiedInPlace(CrashCheck):
    """A tensor that backward still needed was changed in place after the forward had saved it.

    Symptom:
        backward() stops with "one of the variables needed for gradient computation has been modified by
        an inplace operation". The message tells the shape and version of the victim, not who wrote.
    Evidence:
        The writer's line. For a write inside a model, its forward is run once more and every save and every
        write in place is noted. For a write in your own function, the graph and the version counters of its
        variables tell. For weights, a parameter at the very version of the message, and the line that steps
        its optimizer or updates it.
    Fix:
        Make a new tensor instead (`x = x + y`, `inplace=False`, `.clone()` before a write into a slice), call
        every backward() before the step(), or detach a state that is carried on.
    Known limits:
        A write in a function that has ended and belongs to no model leaves no line behind; it is not claimed.
        Compiled and very large models are not run again.
    """

    id = "TD910"
    name = "modified-in-place"
    title = "a tensor needed for backward was changed in place"
    explainers = (explain_overwritten,)
