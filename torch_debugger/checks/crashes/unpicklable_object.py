"""TD932: something that pickle refuses is sent to another process or saved."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.loading.pickled_parts import explain_unpicklable


class UnpicklableObject(CrashCheck):
    """An object that is sent to another process, or saved, holds something that cannot be pickled.

    Symptom:
        "Can't pickle local object", "cannot pickle '_io.TextIOWrapper' object", "attribute lookup <lambda>
        failed" when workers are started by spawn or forkserver, or in `torch.save(model)`.
    Evidence:
        The object's parts, tried one by one: the innermost that pickle refuses, and the line that makes it.
    Fix:
        Move lambdas, functions and classes to the top level of a file; open files, locks and connections
        inside the process that uses them; save a `state_dict` instead of a model.
    Known limits:
        Objects with a `__getstate__` of their own are named as a whole. The search ends after 0.4 seconds.
    """

    id = "TD932"
    name = "unpicklable-object"
    title = "an object to be sent or saved cannot be pickled"
    explainers = (explain_unpicklable,)
