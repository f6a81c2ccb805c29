"""The step of `rehearse(model, *inputs, ...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.errors import UsageError
from torch_debugger.trials.preflight.case import Call
from torch_debugger.trials.step_rehearsal.batch import batch_of
from torch_debugger.trials.step_rehearsal.step import Backward, Exchange, Step

LossFunction = Callable[..., torch.Tensor]


def step_of(
    name: str,
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: LossFunction | None,
    targets: Any,
    optimizer: Optimizer | None,
) -> tuple[Step, Call]:
    call = call_of(inputs)
    _check(model, call, loss, targets)

    def run(exchange: Exchange, backward: Backward) -> Any:
        arguments, keywords = exchange(call)
        output = model(*arguments, **keywords)
        made = (
            loss_of_outputs(output)
            if loss is None
            else loss(output, *([] if targets is None else [exchange(targets)]))
        )
        if not isinstance(made, torch.Tensor) or made.numel() != 1:
            raise UsageError(f"loss must give one number as a tensor, not {_shown(made)}.")
        backward(made)
        return output, made

    batch, no_batch = batch_of([model], [call, targets])
    return Step({name: model}, run, optimizer, batch, no_batch), call


def call_of(inputs: tuple[Any, ...]) -> Call:
    """Several inputs are positional arguments; one that is a tuple or a list stands for several."""
    if len(inputs) == 1 and hasattr(inputs[0], "keys"):
        return (), dict(inputs[0])
    if len(inputs) == 1 and isinstance(inputs[0], (tuple, list)):
        return tuple(inputs[0]), {}
    return inputs, {}


def loss_of_outputs(output: Any) -> torch.Tensor:
    """The loss that an output brings with it; else the sum of it all, which keeps nothing for backward."""
    own = output.get("loss") if isinstance(output, Mapping) else getattr(output, "loss", None)
    if isinstance(own, torch.Tensor) and own.numel() == 1:
        return own
    made = [each for each in tensors_in(output) if each.requires_grad] or [*tensors_in(output)]
    if not made:
        raise UsageError(
            f"the model gave {type(output).__name__} without a tensor: name the loss with loss=..."
        )
    return torch.stack([each.float().sum() for each in made]).sum()


def _check(model: nn.Module, call: Call, loss: LossFunction | None, targets: Any) -> None:
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        raise UsageError(f"`{lazy[0]}` has no shape yet: run the model once before rehearsing it.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise UsageError("a scripted or traced model cannot be rehearsed: take the model it was made from.")
    if next(tensors_in(call), None) is None:
        raise UsageError(
            "rehearse() takes what the model is given: rehearse(model, x), rehearse(model, {'ids': x})."
        )
    if loss is None and targets is not None:
        raise UsageError(
            "rehearse() has targets but no loss: give both, loss is called as loss(output, targets)."
        )


def _shown(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__
