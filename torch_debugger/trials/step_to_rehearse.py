"""The step of `rehearse(model, *inputs, ...)`."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.source.variables import VariablesAt
from torch_debugger.system.errors import UsageError
from torch_debugger.trials.first_step import FirstBackward, LineRun, OwnLoss, StepLines, case_at_backward, own_losses
from torch_debugger.trials.preflight import text_apart
from torch_debugger.trials.preflight_case import Call, Case, one_number
from torch_debugger.trials.rehearsed_step import Backward, Exchange, RunnableStep
from torch_debugger.trials.step_lines import StepStatements

LossFunction = Callable[..., torch.Tensor]


def step_of(
    name: str,
    model: nn.Module,
    inputs: tuple[Any, ...],
    loss: LossFunction | None,
    targets: Any,
    optimizer: Optimizer | None,
) -> tuple[RunnableStep, Call]:
    call = call_of(inputs)
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        raise UsageError(f"`{lazy[0]}` has no shape yet: run the model once before rehearsing it.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise UsageError("a scripted or traced model cannot be rehearsed: take the model it was made from.")
    if next(tensors_in(call), None) is None:
        raise UsageError("rehearse() takes what the model is given: rehearse(model, x), rehearse(model, {'ids': x}).")
    if loss is None and targets is not None:
        raise UsageError("rehearse() has targets but no loss: give both, loss is called as loss(output, targets).")

    def run(exchange: Exchange, backward: Backward) -> Any:
        arguments, keywords = exchange(call)
        output = model(*arguments, **keywords)
        if loss is None:
            made = loss_of_outputs(output)
        else:
            made = loss(output) if targets is None else loss(output, exchange(targets))
        backward(one_number(made, "loss"))
        return output, made

    batch, no_batch = batch_of([model], [call, targets])
    return RunnableStep({name: model}, run, optimizer, batch, no_batch), call


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
        raise UsageError(f"the model gave {type(output).__name__} without a tensor: name the loss with loss=...")
    return torch.stack([each.float().sum() for each in made]).sum()


# The step of a script, from what is known at its backward: its own lines, run with other tensors.
_MOST_ITEMS = 64  # of a list or a dictionary among the variables


def step_at_backward(state: FirstBackward, accumulate: int) -> tuple[RunnableStep, Case]:
    """Raises NotPossibleError where no model was called."""
    case, way = case_at_backward(state, text_apart)

    def run(exchange: Exchange, backward: Backward) -> Any:
        if isinstance(way, LineRun):
            lines = dataclasses.replace(way.lines, moment=_exchanged(way.lines, exchange))
            function = dataclasses.replace(way, lines=lines).function()
            assert function is not None  # it has run before
            call = exchange(case.call) if way.given else None
            step_lines = StepLines(function, list(case.models.values()), exchange(state.batch))
            return step_lines.run(call, backward).variables
        if isinstance(way, OwnLoss):
            models = {name: dataclasses.replace(each, call=exchange(each.call)) for name, each in state.models.items()}
            own = next(loss for loss in own_losses(models, exchange(state.batch)) if loss.number == way.number)
            loss = own.compute()
            backward(loss)
            return loss
        arguments, keywords = exchange(case.call)
        output = next(iter(case.models.values()))(*arguments, **keywords)
        backward(loss_of_outputs(output))
        return output

    batch, no_batch = batch_of(case.models.values(), [case.call, state.batch])
    step = RunnableStep(case.models, run, case.optimizer, batch, no_batch, accumulate)
    if isinstance(way, LineRun):
        late, zeros = _clearing(way.lines.statements[way.begin :])
        step = dataclasses.replace(step, clears_late=late, keeps_gradients=zeros)
    return step, case


def _exchanged(lines: StepStatements, exchange: Exchange) -> VariablesAt:
    """Only what the lines speak of: a script may hold its whole data set in a variable."""
    mentioned = {node.id for each in lines.statements for node in ast.walk(each) if isinstance(node, ast.Name)}
    moment = lines.moment

    def change(variables: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: exchange(value) if name in mentioned and _holds_tensors(value) else value
            for name, value in variables.items()
        }

    return dataclasses.replace(moment, own=change(moment.own), around=change(moment.around))


def _holds_tensors(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.grad_fn is None
    small = isinstance(value, (tuple, list, dict)) and len(value) <= _MOST_ITEMS
    return small and any(each.grad_fn is None for each in tensors_in(value))


def _clearing(statements: Iterable[ast.stmt]) -> tuple[bool, bool]:
    """Whether gradients are cleared after the model's call, and whether they are kept as zeros."""
    calls = [node for each in statements for node in ast.walk(each) if isinstance(node, ast.Call)]
    clearing = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"]
    zeros = [
        word for call in clearing for word in call.keywords
        if word.arg == "set_to_none" and isinstance(word.value, ast.Constant) and not word.value.value
    ]  # fmt: skip
    return bool(clearing), bool(zeros)


_SEQUENCES = (nn.RNNBase, nn.MultiheadAttention)


def batch_of(models: Iterable[nn.Module], values: Iterable[Any]) -> tuple[int, str]:
    """The first dimension that all tensors share; else 0 and a sentence."""
    sizes = [tensor.shape[0] for value in values for tensor in tensors_in(value) if tensor.dim()]
    if not sizes:
        return 0, "The model is given no tensor with a first dimension, which would be the batch."
    if len(set(sizes)) > 1:
        listed = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
        return 0, f"The tensors of the batch have different first dimensions ({listed})."
    for module in (each for model in models for each in model.modules()):
        if len(sizes) == 1 and isinstance(module, _SEQUENCES) and not module.batch_first:
            kind = f"nn.{type(module).__name__}"
            return 0, f"The first dimension may be time: the model holds {kind} with batch_first=False."
    return sizes[0], ""
