"""TD952: a forward was called with other arguments than it takes."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.forward_calls import explain_forward_call
from torch_debugger.checks.explainers.crash_check import CrashCheck


class ForwardArguments(CrashCheck):
    """A module was called with other arguments than its `forward` takes.

    Symptom:
        "forward() missing 1 required positional argument", "forward() takes 2 positional arguments but 3
        were given", "got an unexpected keyword argument".
    Evidence:
        The signature of the module's `forward` and what the call gave it, taken from the frame that
        called it. That the two do not fit is tried, not read from the message.
    Fix:
        Give what is missing, leave out what is too much, or change `forward`; the finding names the arguments.
    Known limits:
        Calls of your own functions and constructors with wrong arguments are not explained. Where either the
        call or `forward` may be wrong, both are named and no edit is offered.
    """

    id = "TD952"
    name = "forward-arguments"
    title = "a forward was called with other arguments than it takes"
    explainers = (explain_forward_call,)
