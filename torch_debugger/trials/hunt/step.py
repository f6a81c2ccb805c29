"""A step's own lines run once more, in a fork: which op made its loss or its gradients not finite?

The training has not moved on: weights, batch and random state are those of the step. What the lines do
besides is lost with the fork.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import Origin
from torch_debugger.records.codec import from_plain
from torch_debugger.trials.hunt.hunter import Hunter
from torch_debugger.trials.hunt.lines import Lines, lines_around
from torch_debugger.trials.hunt.model import Model, find_in_model, parameter_names
from torch_debugger.trials.hunt.samples import find_bad_samples
from torch_debugger.trials.hunt.states import FINITE, state_of

_TIME_LIMIT_S, _ALL_TOGETHER_S = 15.0, 30.0
_OUTER_FRAMES = 4


@dataclass(frozen=True)
class Scene:
    """What is known of the step that went wrong."""

    frames: Sequence[FrameType]  # the user's, innermost first
    models: Sequence[Model]
    slopes: bool  # the loss was finite, a gradient was not
    batch: Any = None  # the last one that a loader gave
    dataset: Any = None


@dataclass(frozen=True)
class Found:
    origin: Origin
    how: str  # step | model


def find_in_step(scene: Scene) -> Found | None:
    """An op, if one of the attempts meets it; else the tensor with which it came in."""
    deadline = time.monotonic() + _ALL_TOGETHER_S
    given: Found | None = None
    for how, attempt in _attempts(scene):
        if time.monotonic() > deadline:
            break
        origin = _in_fork(scene, attempt)
        if origin is not None and origin.phase != "input":
            return Found(origin, how)
        if origin is not None and given is None:
            given = Found(origin, how)
    return given


def _attempts(scene: Scene) -> Iterator[tuple[str, Callable[[], Origin | None]]]:
    """Of the user's lines, then of the models alone. A line begun with may have lost what it began with."""
    for lines in _training_lines(scene.frames):
        for begin in lines.beginnings():
            run = lines.function(begin)
            if run is not None:
                yield "step", functools.partial(_run_lines, scene, run, again=False)
                if begin == 0:
                    yield "step", functools.partial(_run_lines, scene, run, again=True)
    for model in scene.models:
        yield "model", functools.partial(find_in_model, model, slopes=scene.slopes)


def _training_lines(frames: Sequence[FrameType]) -> Iterator[Lines]:
    """From the innermost frame out to the training loop; what is outside of it would train all over again."""
    for frame in frames[:_OUTER_FRAMES]:
        around = lines_around(frame)
        yield from around
        if any(lines.in_loop for lines in around):
            return


def _in_fork(scene: Scene, attempt: Callable[[], Origin | None]) -> Origin | None:
    def task() -> str:
        torch.compiler.set_stance("force_eager")
        origin = attempt()
        if origin is not None and origin.phase == "input" and scene.dataset is not None:
            origin = dataclasses.replace(origin, samples=find_bad_samples(scene.dataset))
        return "null" if origin is None else json.dumps(dataclasses.asdict(origin))

    forked = ForkedTask(task, _TIME_LIMIT_S, urgent=True)
    text = forked.wait()
    plain = json.loads(text) if forked.ended == "done" else None
    found = from_plain("Origin", plain) if plain else None
    return found if isinstance(found, Origin) else None


def can_fork(models: Sequence[Model]) -> bool:
    """Not with CUDA at work: a fork cannot use it."""
    if not hasattr(os, "fork"):
        return False
    return all(parameter.device.type == "cpu" for model in models for parameter in model.module.parameters())


class _Reached(BaseException):
    """The backward has come in which it happens; no `except Exception` of the user's may catch it."""


def _run_lines(scene: Scene, run: Callable[[], Any], again: bool) -> Origin | None:
    """With `again`, the models are given once more what they were given in the step, whatever the lines say."""
    names: dict[int, str] = {}
    paths: dict[int, str] = {}
    for model in scene.models:
        names |= parameter_names(model.module, model.paths)
        paths |= model.paths
    hunter = Hunter(paths, names)
    found: list[Origin | None] = []

    def reach(origin: Origin | None) -> None:
        found.append(origin)
        raise _Reached

    def backward(tensors: Any, *arguments: Any, **keywords: Any) -> None:
        if any(state_of(tensor) != FINITE for tensor in tensors_in(tensors)):
            reach(hunter.origin_of(tensors) or hunter.origin_of(tensors, masks=True))
        hunter.backward(tensors, *arguments, **keywords)
        if hunter.slope() is not None:
            reach(hunter.slope())

    def before_update(optimizer: Optimizer, *_: Any) -> None:
        """Gradients that the user's own code has changed since."""
        held = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        if any(state_of(gradient) != FINITE for gradient in held):
            reach(hunter.origin_of(held))

    torch.autograd.backward = backward
    register_optimizer_step_pre_hook(before_update)
    _give_batches(scene.batch)
    for model in scene.models:
        _set_the_scene(model, again)
    with contextlib.suppress(_Reached, Exception), torch.enable_grad(), hunter:
        run()
    return found[0] if found else None


def _give_batches(batch: Any) -> None:
    """The workers of a loader are the parent's: whoever asks gets the step's batch once more."""
    setattr(_BaseDataLoaderIter, "__next__", lambda iterator: batch)  # noqa: B010
    setattr(DataLoader, "__iter__", lambda loader: iter((batch,)))  # noqa: B010


def _set_the_scene(model: Model, again: bool) -> None:
    """At its first call the model meets the random state, and maybe the inputs, that it had in the step."""
    waiting = [model]

    def before(module: nn.Module, arguments: Any, keywords: Any) -> Any:
        if not waiting or not torch.is_grad_enabled():
            return None
        waiting.clear()
        if model.rng_state is not None:
            torch.set_rng_state(model.rng_state)
        return model.call if again else None

    model.module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
