"""TD953: an optimizer got no parameters."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.empty_optimizers import explain_empty_parameters
from torch_debugger.checks.explainers.crash_check import CrashCheck


class EmptyParameterList(CrashCheck):
    """An optimizer was built from no parameters at all.

    Symptom:
        "optimizer got an empty parameter list".
    Evidence:
        The argument on your line and the model it names: how many parameters that has, how many of them are
        trainable, which layers it keeps in plain lists, and whether a generator was used up before.
    Fix:
        `nn.ModuleList` for layers in a list, `list(model.parameters())` for what is read twice, or make the
        part to train trainable.
    Known limits:
        The model must be named in the argument, or in the line that made the variable that is the argument.
    """

    id = "TD953"
    name = "empty-parameter-list"
    title = "an optimizer got no parameters"
    explainers = (explain_empty_parameters,)
