"""How an optimizer of torch goes through its parameters: all in one kernel, in lists, or one by one."""

from __future__ import annotations

import torch
from torch.optim import Optimizer

FUSED, IN_LISTS, ONE_BY_ONE = "fused", "in lists", "one by one"


def update_form(optimizer: Optimizer) -> str:
    """Empty where there is no choice: an optimizer of the user's own, gradients that no such kernel takes."""
    home = type(optimizer).__module__
    if not home.startswith("torch.optim.") or "fused" not in optimizer.defaults:
        return ""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    if not parameters or not all(_fits(parameter) for parameter in parameters):
        return ""
    forms = {_form(group, parameters[0].is_cuda) for group in optimizer.param_groups}
    return forms.pop() if len(forms) == 1 else ""


def _fits(parameter: torch.Tensor) -> bool:
    gradient = parameter.grad
    return parameter.is_floating_point() and (gradient is None or gradient.layout is torch.strided)


def _form(group: dict[str, object], on_cuda: bool) -> str:
    if group.get("differentiable"):
        return ""
    if group.get("fused"):
        return FUSED
    # Left to torch, it takes lists on CUDA and a loop on the CPU.
    in_lists = on_cuda if group.get("foreach") is None else group["foreach"]
    return IN_LISTS if in_lists else ONE_BY_ONE
