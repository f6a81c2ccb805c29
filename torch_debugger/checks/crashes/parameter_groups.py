"""TD954: an optimizer refuses its parameters or settings."""

from __future__ import annotations

from torch_debugger.checks.explainers.building.optimizer_arguments import explain_optimizer_argument
from torch_debugger.checks.explainers.building.optimizer_settings import explain_optimizer_setting
from torch_debugger.checks.explainers.crash_check import CrashCheck


class ParameterGroups(CrashCheck):
    """An optimizer was given something else than parameters, the same ones twice, or a setting it refuses.

    Symptom:
        "'Net' object is not iterable", "can't optimize a non-leaf Tensor", "some parameters appear in more than
        one parameter group", "optimizer can only optimize Tensors", "Invalid learning rate", "step() missing 1
        required positional argument: 'closure'".
    Evidence:
        What the optimizer's frames hold: the argument itself, its groups, the parameters by identity and by the
        name the model has for them, the settings. The line that made a tensor that is no leaf.
    Fix:
        The argument written as it should be: `model.parameters()`, a list, one group for each parameter.
    Known limits:
        A setting is judged by torch's own rules only; a learning rate that is merely too high crashes nothing.
    """

    id = "TD954"
    name = "parameter-groups"
    title = "an optimizer refuses its parameters or settings"
    explainers = (explain_optimizer_argument, explain_optimizer_setting)
