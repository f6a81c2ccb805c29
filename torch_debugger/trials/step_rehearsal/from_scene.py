"""The step of a script, from the scene at its backward: its own lines, run with other tensors."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import torch

from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.trials.hunt.lines import Lines
from torch_debugger.trials.preflight.apart import text_apart
from torch_debugger.trials.preflight.case import Case
from torch_debugger.trials.preflight.own_loss import OwnLoss, own_losses
from torch_debugger.trials.preflight.scene import Scene, Way, case_of_scene
from torch_debugger.trials.preflight.step_lines import StepLines
from torch_debugger.trials.step_rehearsal.batch import batch_of
from torch_debugger.trials.step_rehearsal.given import loss_of_outputs
from torch_debugger.trials.step_rehearsal.step import Backward, Exchange, Step

_MOST_ITEMS = 64  # of a list or a dictionary among the variables


def step_of_scene(scene: Scene, accumulate: int) -> tuple[Step, Case]:
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


def _run_lines(scene: Scene, case: Case, way: Way, exchange: Exchange, backward: Backward) -> Any:
    lines = dataclasses.replace(way.lines, moment=_exchanged(way.lines, exchange))
    run = dataclasses.replace(way, lines=lines).function()
    assert run is not None  # it has run before
    call = exchange(case.call) if way.given else None
    return StepLines(run, list(case.models.values()), exchange(scene.batch)).run(call, backward).variables


def _run_own_loss(scene: Scene, case: Case, way: OwnLoss, exchange: Exchange, backward: Backward) -> Any:
    models = {
        name: dataclasses.replace(model, call=exchange(model.call)) for name, model in scene.models.items()
    }
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
    clearing = [
        call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "zero_grad"
    ]
    zeros = [
        word for call in clearing for word in call.keywords
        if word.arg == "set_to_none" and isinstance(word.value, ast.Constant) and not word.value.value
    ]  # fmt: skip
    return bool(clearing), bool(zeros)
