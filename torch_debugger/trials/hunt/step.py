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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch

from torch_debugger.anatomy.forked import ForkedTask
from torch_debugger.anatomy.moments import Moment
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.clocks import time
from torch_debugger.records import Origin
from torch_debugger.records.codec import from_plain
from torch_debugger.trials.hunt.lines import Lines, lines_around
from torch_debugger.trials.hunt.model import Model, find_in_model
from torch_debugger.trials.hunt.once_more import OnceMore
from torch_debugger.trials.hunt.samples import find_bad_samples

_TIME_LIMIT_S, _ALL_TOGETHER_S = 15.0, 30.0
_OUTER_FRAMES = 4


@dataclass(frozen=True)
class Scene:
    """What is known of the step that went wrong."""

    moments: Sequence[Moment]  # of the user's frames, innermost first
    models: Sequence[Model]
    slopes: bool  # the loss was finite, a gradient was not
    batch: Any = None  # the last one that a loader gave
    dataset: Any = None
    rng_state: torch.Tensor | None = None  # when the step began
    loss: str = ""  # nan, inf or -inf, as it was in the step; empty while it was finite
    raised: bool = False  # the lines end in an exception, and the number is in the frames that raise it


@dataclass(frozen=True)
class Found:
    origin: Origin
    how: str  # step | model


def find_in_step(scene: Scene) -> Found | None:
    """An op, if one of the attempts meets it; else the tensor with which it came in."""
    deadline = time.monotonic() + _ALL_TOGETHER_S
    given: Found | None = None
    for attempt in _attempts(scene):
        if time.monotonic() > deadline:
            break
        origin = _in_fork(scene, attempt.run)
        if origin is not None and origin.phase != "input":
            return Found(origin, attempt.how)
        if origin is not None and given is None and attempt.knows_inputs:
            given = Found(origin, attempt.how)
    return given


class _Attempt(NamedTuple):
    how: str
    run: Callable[[], Origin | None]
    knows_inputs: bool = True  # what comes in not finite was not made in the step itself


def _attempts(scene: Scene) -> Iterator[_Attempt]:
    """Of the user's lines, then of the models alone. A line begun with may have lost what it began with."""
    for lines in training_lines(scene.moments):
        with_model = lines.first_model_call() is not None
        for number, begin in enumerate(lines.beginnings()):
            run = lines.function(begin)
            if run is not None:
                for once in _ways(scene, begin):
                    yield _Attempt("step", functools.partial(once.run, run), with_model and number < 2)
    for model in scene.models:
        yield _Attempt("model", functools.partial(find_in_model, model, slopes=scene.slopes))


def _ways(scene: Scene, begin: int) -> Iterator[OnceMore]:
    once_more = functools.partial(
        OnceMore, scene.models, batch=scene.batch, loss=scene.loss, raised=scene.raised
    )
    if begin == 0 and scene.rng_state is not None:
        yield once_more(rng_state=scene.rng_state)
    yield once_more()
    if begin == 0:
        yield once_more(again=True)


def training_lines(moments: Sequence[Moment]) -> Iterator[Lines]:
    """From the innermost frame out to the training loop; what is outside of it would train all over again."""
    for moment in moments[:_OUTER_FRAMES]:
        around = lines_around(moment)
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


def find_in_lines(moment: Moment, models: Sequence[Model], *, again: bool) -> Origin | None:
    """In this very process, where a fork cannot be: only from the line on that calls a model.

    again: the models are given what they were given in the step, whatever the lines say.
    """
    for lines in lines_around(moment)[:1]:
        run = lines.function(lines.beginnings()[0], bare=True) if lines.statements else None
        if run is not None:
            with contextlib.ExitStack() as traces:
                for model in models:
                    traces.enter_context(leaving_no_trace(model.module))
                return OnceMore(models, apart=True, again=again).run(run)
    return None


def can_fork(models: Sequence[Model]) -> bool:
    """Not with CUDA at work: a fork cannot use it."""
    if not hasattr(os, "fork"):
        return False
    return all(parameter.device.type == "cpu" for model in models for parameter in model.module.parameters())
