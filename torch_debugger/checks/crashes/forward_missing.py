"""TD951: a module without a forward was called."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.missing_forwards import explain_missing_forward
from torch_debugger.checks.explainers.crash_check import CrashCheck


class ForwardMissing(CrashCheck):
    """A module was called that has no `forward`.

    Symptom:
        'Module [Net] is missing the required "forward" function'.
    Evidence:
        The module that was called and the source of its class: a method whose name is nearly `forward`, a
        `forward` that stands inside another method or outside of the class, or none. An `nn.ModuleList` or
        `nn.ModuleDict` holds modules and never has one.
    Fix:
        Rename or indent the method, or build an `nn.Sequential` where layers are to run one after the other.
    Known limits:
        A wrong indentation is told in words, not as an edit.
    """

    id = "TD951"
    name = "forward-missing"
    title = "a module without a forward was called"
    explainers = (explain_missing_forward,)
