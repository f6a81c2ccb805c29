"""TD956: a module was given something it cannot hold."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.registrations import explain_registration
from torch_debugger.checks.explainers.crash_check import CrashCheck


class NotAModule(CrashCheck):
    """A module was given something it cannot hold, or a name it cannot use.

    Symptom:
        "list is not a Module subclass", "cannot assign 'torch.FloatTensor' as parameter 'weight'", "attribute
        'mean' already exists", "module name can't contain", "'Net' object has no attribute 'parameters'".
    Evidence:
        What was to be registered and under which name, from the frame that refused it; what holds the name
        already and the line that assigned it; the class statement of an object that is no module.
    Fix:
        The module form of a function, an object instead of a class, a star before a list, `nn.Parameter`
        around a tensor, another name.
    Known limits:
        A function without a module form needs a module of your own, which is told in words.
    """

    id = "TD956"
    name = "not-a-module"
    title = "a module was given something it cannot hold"
    explainers = (explain_registration,)
