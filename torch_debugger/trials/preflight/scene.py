"""A script's first step taken over: which of its lines give the same loss once more, and the case they make."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.anatomy.sources import tree_of
from torch_debugger.trials.hunt.leaves import leaves_of
from torch_debugger.trials.hunt.lines import Lines
from torch_debugger.trials.hunt.model import Model
from torch_debugger.trials.hunt.step import training_lines
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError, optimized
from torch_debugger.trials.preflight.own_loss import OwnLoss, own_losses
from torch_debugger.trials.preflight.step_lines import Passage, StepLines

Apart = Callable[[Callable[[], str]], str]  # runs something elsewhere: its text, empty where it failed

_SAME = 1e-3  # of the loss
_MOST_SCALE = 1024.0  # a scaler begins higher and comes down by leaving steps out
_TIMES = {1: "once", 2: "twice", 3: "three times"}


@dataclass(frozen=True)
class Scene:
    """What is known at the first backward of a script."""

    moments: Sequence[Moment]  # of the user's frames, innermost first
    models: Mapping[str, Model]  # under the user's names
    optimizers: Sequence[Optimizer]
    loss: float
    batch: Any = None  # the last one that a loader gave
    names_gpu: bool = True  # somewhere in the script
    scale: float = 1.0  # by which a GradScaler has multiplied the loss


@dataclass(frozen=True)
class Way:
    """How lines are run again."""

    lines: Lines
    begin: int
    bare: bool  # without what is called only for what it does besides
    given: bool  # the first model is given what it was given in the step, whatever the lines say

    @property
    def file(self) -> str:
        return self.lines.moment.file

    def function(self) -> Callable[[], Any] | None:
        return self.lines.function(self.begin, bare=self.bare)


def case_of_scene(scene: Scene, apart: Apart) -> tuple[Case, Way | OwnLoss | None]:
    """With the first way that gives the step's own loss; without one, a case that has no loss."""
    ways: Iterable[Way | OwnLoss] = itertools.chain(_ways(scene), own_losses(scene.models, scene.batch))
    for way in ways:
        text = apart(functools.partial(_attempt, scene, way))
        found = json.loads(text) if text else {}
        if found and math.isclose(found["loss"], scene.loss, rel_tol=_SAME, abs_tol=1e-9):
            return _case(scene, way, found), way
    return _case_without_loss(scene), None


def _ways(scene: Scene) -> Iterator[Way]:
    for lines in training_lines(scene.moments):
        first = lines.first_model_call()
        if first is not None:
            for begin in dict.fromkeys((first, 0)):
                yield from (Way(lines, begin, bare, given) for bare in (True, False) for given in (False, True))


def _attempt(scene: Scene, way: Way | OwnLoss) -> str:
    """The loss by these lines, the models called for it and the parameters it reaches; else nothing."""
    for model in reversed([*scene.models.values()]):  # the first one met has the last word
        model.restore_randomness(first=True)
    call = next((model.call for model in scene.models.values() if model.call), None) if way.given else None
    with contextlib.suppress(Exception), _no_traces(scene):  # the user's lines may raise anything
        every = [model.module for model in scene.models.values()]
        return _told(scene, _lines(scene, way, every).run(call))
    return "{}"


def _told(scene: Scene, passage: Passage) -> str:
    loss = passage.loss
    if loss is None or not loss.requires_grad or loss.numel() != 1:
        return "{}"
    names = {id(model.module): name for name, model in scene.models.items()}
    reached = {id(each) for each in leaves_of([loss])[0]}  # in a fork, objects have the ids of its parent
    calls = list(zip(passage.called, passage.outputs, strict=True))
    own = [call for call in calls if any(id(each) in reached for each in call[0].parameters())] or calls
    found = {"loss": loss.item(), "reached": list(reached), "chained": _is_chain(own)}
    return json.dumps(found | {"called": [names[id(module)] for module, _ in own]})


def _is_chain(calls: Sequence[tuple[nn.Module, Any]]) -> bool:
    """Whether what the last model gives is made of what the first one gave."""
    if len(calls) < 2:
        return bool(calls)
    first = {id(each) for each in calls[0][0].parameters()}
    return any(id(each) in first for each in leaves_of(tensors_in(calls[-1][1]))[0])


@contextlib.contextmanager
def _no_traces(scene: Scene) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for model in scene.models.values():
            stack.enter_context(leaving_no_trace(model.module))
        yield


def _lines(scene: Scene, way: Way | OwnLoss, models: Iterable[nn.Module]) -> StepLines:
    run = way.function()
    if run is None:
        raise NotPossibleError("The lines of the step cannot be run again: they await or yield something.")
    return StepLines(run, list(models), scene.batch)


def _case(scene: Scene, way: Way | OwnLoss, found: Mapping[str, Any]) -> Case:
    called: Sequence[str] = found["called"]
    models = {name: scene.models[name].module for name in dict.fromkeys(called)}
    lines, once = _lines(scene, way, models.values()), len(models) == len(called)
    call = scene.models[called[0]].call if called else None
    times = " and ".join(f"`{name}` {_TIMES.get(called.count(name), 'often')}" for name in models)
    return Case(
        models=models,
        call=call if call is not None else ((), {}),
        compute=lambda given: lines.loss(given if once else None),
        forward=functools.partial(_forward, list(models.values()), lines if found["chained"] else None),
        optimizer=_optimizer(scene, set(found["reached"])),
        on_gpu=scene.names_gpu,
        scale=min(scene.scale, _MOST_SCALE),
        clips=_clips(way.file),
        no_inputs="" if once and call is not None else f"The step calls {times or 'no model'}.",
    )


def _clips(file: str) -> bool:
    names = {
        getattr(node, "attr", getattr(node, "id", "")) for node in ast.walk(tree_of(file) or ast.Module([], []))
    }
    return any(name.startswith("clip_grad") for name in names)


def _forward(models: Sequence[nn.Module], lines: StepLines | None, given: Call) -> Any:
    """Of one model its own output, of a chain of them that of the last."""
    if len(models) == 1:
        return models[0](*given[0], **given[1])
    if lines is None:
        raise NotPossibleError("The step calls several models that do not follow one another.")
    return lines.run(given).outputs[-1]


def _case_without_loss(scene: Scene) -> Case:
    sizes = {
        name: sum(each.numel() for each in model.module.parameters()) for name, model in scene.models.items()
    }
    known = [
        name for name in sorted(sizes, key=lambda name: -sizes[name]) if scene.models[name].call is not None
    ]
    if not known:
        raise NotPossibleError("No model was called before the first backward().")
    model = scene.models[known[0]]
    assert model.call is not None

    def compute(given: Call) -> torch.Tensor:
        raise NotPossibleError("The lines from the model to the loss do not give the same loss when run again.")

    optimizer = _optimizer(scene, {id(each) for each in model.module.parameters()})
    forward = functools.partial(_forward, [model.module], None)
    return Case({known[0]: model.module}, model.call, compute, forward, optimizer, scene.names_gpu)


def _optimizer(scene: Scene, reached: set[int]) -> Optimizer | None:
    """The one that holds most of the parameters which this loss reaches."""
    shared = [sum(id(each) in reached for each in optimized(optimizer)) for optimizer in scene.optimizers]
    return scene.optimizers[shared.index(max(shared))] if any(shared) else None
