"""TD950: the base class of an object was never initialised."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.base_inits import explain_base_init
from torch_debugger.checks.explainers.crash_check import CrashCheck


class SuperInitMissing(CrashCheck):
    """A class derived from a library's does not let its base class initialise itself.

    Symptom:
        "cannot assign module before Module.__init__() call", "object has no attribute '_parameters'",
        "takes no arguments", or a layer that does not exist although the constructor assigns it.
    Evidence:
        The object that lacks what its base class would have made, and the source of its class: an
        `__init__` without `super().__init__()`, with it too late, called wrongly, or under a misspelt name.
    Fix:
        Make `super().__init__()` the first line of `__init__`.
    Known limits:
        Where the call exists but comes too late it must be moved, which is told in words and not as an edit.
        Classes whose source cannot be read are left alone.
    """

    id = "TD950"
    name = "super-init-missing"
    title = "a base class was never initialised"
    explainers = (explain_base_init,)
