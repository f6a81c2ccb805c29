"""A script's first step taken over: which of its lines give the same loss once more, and the case they make."""

from __future__ import annotations

import contextlib
import functools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.trials.hunt.leaves import leaves_of
from torch_debugger.trials.hunt.lines import Lines
from torch_debugger.trials.hunt.model import Model
from torch_debugger.trials.hunt.step import training_lines
from torch_debugger.trials.preflight.case import Call, Case, NotPossibleError, optimized
from torch_debugger.trials.preflight.step_lines import Passage, StepLines

Apart = Callable[[Callable[[], str]], str]  # runs something elsewhere: its text, empty where it failed

_SAME = 1e-3  # of the loss
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


@dataclass(frozen=True)
class Way:
    """How lines are run again."""

    lines: Lines
    begin: int
    bare: bool  # without what is called only for what it does besides
    given: bool  # the first model is given what it was given in the step, whatever the lines say


def case_of_scene(scene: Scene, apart: Apart) -> tuple[Case, Way | None]:
    """With the first way that gives the step's own loss; without one, a case that has no loss."""
    for way in _ways(scene):
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


def _attempt(scene: Scene, way: Way) -> str:
    """The loss by these lines, the models called for it and the parameters it reaches; else nothing."""
    for model in reversed([*scene.models.values()]):  # the first one met has the last word
        model.restore_randomness(first=True)
    call = next((model.call for model in scene.models.values() if model.call), None) if way.given else None
    with contextlib.suppress(Exception), _no_traces(scene):  # the user's lines may raise anything
        return _told(scene, _lines(scene, way).run(call))
    return "{}"


def _told(scene: Scene, passage: Passage) -> str:
    loss = passage.loss
    if loss is None or not loss.requires_grad or loss.numel() != 1:
        return "{}"
    names = {id(model.module): name for name, model in scene.models.items()}
    called = [names[id(module)] for module in passage.called]
    reached = [id(each) for each in leaves_of([loss])[0]]  # in a fork, objects have the ids of its parent
    found = {"loss": loss.item(), "called": called, "reached": reached, "chained": _is_chain(passage)}
    return json.dumps(found)


def _is_chain(passage: Passage) -> bool:
    """Whether what the last model gives is made of what the first one gave."""
    if not passage.called:
        return False
    first = {id(each) for each in passage.called[0].parameters()}
    last = leaves_of(tensors_in(passage.outputs[-1]))[0]
    return len(passage.called) == 1 or any(id(each) in first for each in last)


@contextlib.contextmanager
def _no_traces(scene: Scene) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for model in scene.models.values():
            stack.enter_context(leaving_no_trace(model.module))
        yield


def _lines(scene: Scene, way: Way) -> StepLines:
    run = way.lines.function(way.begin, bare=way.bare)
    if run is None:
        raise NotPossibleError("The lines of the step cannot be run again: they await or yield something.")
    return StepLines(run, [model.module for model in scene.models.values()], scene.batch)


def _case(scene: Scene, way: Way, found: Mapping[str, Any]) -> Case:
    called: Sequence[str] = found["called"]
    models = {name: scene.models[name].module for name in dict.fromkeys(called)}
    lines, once = _lines(scene, way), len(models) == len(called)
    call = scene.models[called[0]].call if called else None
    times = " and ".join(f"`{name}` {_TIMES.get(called.count(name), 'often')}" for name in models)
    return Case(
        models=models,
        call=call if call is not None else ((), {}),
        compute=lambda given: lines.loss(given if once else None),
        forward=functools.partial(_forward, list(models.values()), lines if found["chained"] else None),
        optimizer=_optimizer(scene, set(found["reached"])),
        on_gpu=scene.names_gpu,
        no_inputs="" if once and call is not None else f"The step calls {times or 'no model'}.",
    )


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
