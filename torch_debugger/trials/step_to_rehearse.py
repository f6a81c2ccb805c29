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
from torch_debugger.source.variables import Moment
from torch_debugger.system.errors import UsageError
from torch_debugger.trials.first_step import FirstBackward, OwnLoss, StepLines, Way, case_of_scene, own_losses
from torch_debugger.trials.preflight import text_apart
from torch_debugger.trials.preflight_case import Call, Case
from torch_debugger.trials.rehearsed_step import Backward, Exchange, Step
from torch_debugger.trials.step_lines import Lines

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
            loss_of_outputs(output) if loss is None else loss(output, *([] if targets is None else [exchange(targets)]))
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
        raise UsageError(f"the model gave {type(output).__name__} without a tensor: name the loss with loss=...")
    return torch.stack([each.float().sum() for each in made]).sum()


def _check(model: nn.Module, call: Call, loss: LossFunction | None, targets: Any) -> None:
    lazy = [name for name, value in model.named_parameters() if nn.parameter.is_lazy(value)]
    if lazy:
        raise UsageError(f"`{lazy[0]}` has no shape yet: run the model once before rehearsing it.")
    if any(isinstance(module, torch.jit.ScriptModule) for module in model.modules()):
        raise UsageError("a scripted or traced model cannot be rehearsed: take the model it was made from.")
    if next(tensors_in(call), None) is None:
        raise UsageError("rehearse() takes what the model is given: rehearse(model, x), rehearse(model, {'ids': x}).")
    if loss is None and targets is not None:
        raise UsageError("rehearse() has targets but no loss: give both, loss is called as loss(output, targets).")


def _shown(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


# The step of a script, from the scene at its backward: its own lines, run with other tensors.
_MOST_ITEMS = 64  # of a list or a dictionary among the variables


def step_of_scene(scene: FirstBackward, accumulate: int) -> tuple[Step, Case]:
    """Raises NotPossibleError where no model was called."""
    case, way = case_of_scene(scene, text_apart)
    runs = {Way: _run_lines, OwnLoss: _run_own_loss}

    def run(exchange: Exchange, backward: Backward) -> Any:
        if way is None:
            return _run_model(case, exchange, backward)
        return runs[type(way)](scene, case, way, exchange, backward)  # type: ignore[operator]

    batch, no_batch = batch_of(case.models.values(), [case.call, scene.batch])
    step = Step(case.models, run, case.optimizer, batch, no_batch, accumulate)
    if isinstance(way, Way):
        late, zeros = _clearing(way.lines.statements[way.begin :])
        step = dataclasses.replace(step, clears_late=late, keeps_gradients=zeros)
    return step, case


def _run_lines(scene: FirstBackward, case: Case, way: Way, exchange: Exchange, backward: Backward) -> Any:
    lines = dataclasses.replace(way.lines, moment=_exchanged(way.lines, exchange))
    run = dataclasses.replace(way, lines=lines).function()
    assert run is not None  # it has run before
    call = exchange(case.call) if way.given else None
    return StepLines(run, list(case.models.values()), exchange(scene.batch)).run(call, backward).variables


def _run_own_loss(scene: FirstBackward, case: Case, way: OwnLoss, exchange: Exchange, backward: Backward) -> Any:
    models = {name: dataclasses.replace(model, call=exchange(model.call)) for name, model in scene.models.items()}
    found = next(loss for loss in own_losses(models, exchange(scene.batch)) if loss.number == way.number)
    loss = found.compute()
    backward(loss)
    return loss


def _run_model(case: Case, exchange: Exchange, backward: Backward) -> Any:
    arguments, keywords = exchange(case.call)
    output = next(iter(case.models.values()))(*arguments, **keywords)
    backward(loss_of_outputs(output))
    return output


def _exchanged(lines: Lines, exchange: Exchange) -> Moment:
    """Only what the lines speak of: a script may hold its whole data set in a variable."""
    spoken = {node.id for each in lines.statements for node in ast.walk(each) if isinstance(node, ast.Name)}
    moment = lines.moment

    def change(variables: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: exchange(value) if name in spoken and _holds_tensors(value) else value
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


# Which number is the size of the batch: told only where nothing speaks against it.
_SEQUENCES = (nn.RNNBase, nn.MultiheadAttention)


def batch_of(models: Iterable[nn.Module], values: Iterable[Any]) -> tuple[int, str]:
    """The first dimension that all tensors share; else 0 and a sentence."""
    sizes = [tensor.shape[0] for value in values for tensor in tensors_in(value) if tensor.dim()]
    if not sizes:
        return 0, "The model is given no tensor with a first dimension, which would be the batch."
    if len(set(sizes)) > 1:
        told = " and ".join(f"{size:,}" for size in dict.fromkeys(sizes))
        return 0, f"The tensors of the batch have different first dimensions ({told})."
    first = next((each for model in models for each in model.modules() if _has_time_first(each)), None)
    if len(sizes) == 1 and first is not None:
        kind = f"nn.{type(first).__name__}"
        return 0, f"The first dimension may be time: the model holds {kind} with batch_first=False."
    return sizes[0], ""


def _has_time_first(module: nn.Module) -> bool:
    return isinstance(module, _SEQUENCES) and not module.batch_first
