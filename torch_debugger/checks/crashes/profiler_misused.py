"""TD970: torch's profiler was set up or asked for results as it cannot be."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.profilers import explain_profiler


class ProfilerMisused(CrashCheck):
    """torch.profiler was built with values it does not take, or asked for what it has not recorded.

    Symptom:
        "Trace is already saved", "Profiler must be initialized before getting key averages", "'NoneType' object
        has no attribute 'save'", "export_stacks() requires with_stack=True", "Can't create directory",
        "Invalid profiler schedule arguments", "No valid profiler activities found".
    Evidence:
        The profiler itself: its options, its schedule and how many times `step()` was called, whether it has
        recorded anything, the handler that saved its trace; and the lines of your file that call it.
    Fix:
        The option to add, the call to leave out, to move or to add.
    Known limits:
        Profilers of classes of your own are not looked at.
    """

    id = "TD970"
    name = "profiler-misused"
    title = "torch.profiler was asked for what it cannot give"
    explainers = (explain_profiler,)
