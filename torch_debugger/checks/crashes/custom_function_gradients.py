"""TD915: a custom autograd.Function whose two halves do not fit."""

from __future__ import annotations

from torch_debugger.checks.explainers.autograd.custom_functions import explain_custom_function
from torch_debugger.checks.explainers.autograd.custom_gradients import explain_custom_gradients
from torch_debugger.checks.explainers.crash_check import CrashCheck


class CustomFunctionGradients(CrashCheck):
    """The backward of your own autograd.Function does not fit its forward, or it is called the wrong way.

    Symptom:
        "function MyFnBackward returned an incorrect number of gradients", "an invalid gradient at index 0",
        "not enough values to unpack" in backward, or an error about a legacy function.
    Evidence:
        The class, found through the frames or through the graph behind the loss, and its source: what forward
        takes, saves and returns, and what backward takes and returns.
    Fix:
        One gradient for each input of forward, None for what is no tensor, each in the shape of its input; what
        backward reads must be saved in forward; call it through `apply`.
    Known limits:
        Values that backward returns through a variable or a helper are counted from torch's message.
    """

    id = "TD915"
    name = "custom-function-gradients"
    title = "a custom autograd.Function does not fit itself"
    explainers = (explain_custom_gradients, explain_custom_function)
