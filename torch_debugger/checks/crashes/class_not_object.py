"""TD957: a module class was used where an object of it is meant."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.class_uses import explain_class_use
from torch_debugger.checks.explainers.crash_check import CrashCheck


class ClassNotObject(CrashCheck):
    """A module class was used where an object of it is meant.

    Symptom:
        `nn.CrossEntropyLoss(output, target)` stops with "Boolean value of Tensor with more than one value is
        ambiguous"; `x = nn.ReLU(x)` makes the next layer refuse a ReLU; `model = Net` makes
        `model.parameters()` miss its `self`.
    Evidence:
        What the call on your line names is a class derived from nn.Module, and it was given tensors; or the
        object that a layer, loss or method refused is a module that such a call built.
    Fix:
        Build the object first, then call it: `nn.CrossEntropyLoss()(output, target)`; for a layer with weights
        build it once in `__init__`.
    Known limits:
        Where an argument is a longer expression, that it is a tensor is taken from the function that makes it.
    """

    id = "TD957"
    name = "class-not-object"
    title = "a module class was used where an object of it is meant"
    explainers = (explain_class_use,)
