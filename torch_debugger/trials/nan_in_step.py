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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
import torch
from torch import nn
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.model.forks import ForkedTask
from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.records import Origin
from torch_debugger.records.codec import from_plain
from torch_debugger.source.variables import VariablesAt
from torch_debugger.system.clocks import time
from torch_debugger.trials.nan_in_forward import Model, NonFiniteMode, find_in_model, parameter_names
from torch_debugger.trials.nan_operations import FINITE, leaves_of, state_of, word_for
from torch_debugger.trials.step_lines import StepStatements, lines_around, replaced

_TIME_LIMIT_S, _ALL_TOGETHER_S = 15.0, 30.0
_OUTER_FRAMES = 4


@dataclass(frozen=True)
class NonFiniteStep:
    """What is known of the step that went wrong."""

    moments: Sequence[VariablesAt]  # of the user's frames, innermost first
    models: Sequence[Model]
    slopes: bool  # the loss was finite, a gradient was not
    batch: Any = None  # the last one that a loader gave
    dataset: Any = None
    rng_state: torch.Tensor | None = None  # when the step began
    loss: str = ""  # nan, inf or -inf, as it was in the step; empty while it was finite
    raised: bool = False  # the lines end in an exception, and the number is in the frames that raise it


@dataclass(frozen=True)
class FoundOrigin:
    origin: Origin
    how: str  # step | model


def find_in_step(step: NonFiniteStep) -> FoundOrigin | None:
    """An op, if one of the attempts meets it; else the tensor with which it came in."""
    deadline = time.monotonic() + _ALL_TOGETHER_S
    from_input: FoundOrigin | None = None
    for attempt in _attempts(step):
        if time.monotonic() > deadline:
            break
        origin = _in_fork(step, attempt.run)
        if origin is not None and origin.phase != "input":
            return FoundOrigin(origin, attempt.how)
        if origin is not None and from_input is None and attempt.knows_inputs:
            from_input = FoundOrigin(origin, attempt.how)
    return from_input


class _Attempt(NamedTuple):
    how: str
    run: Callable[[], Origin | None]
    knows_inputs: bool = True  # what comes in not finite was not made in the step itself


def _attempts(step: NonFiniteStep) -> Iterator[_Attempt]:
    """Of the user's lines, then of the models alone. A line begun with may have lost what it began with."""
    once_more = functools.partial(StepReplay, step.models, batch=step.batch, loss=step.loss, raised=step.raised)
    for lines in training_lines(step.moments):
        with_model = lines.first_model_call() is not None
        for number, begin in enumerate(lines.beginnings()):
            run = lines.function(begin)
            if run is None:
                continue
            if begin == 0 and step.rng_state is not None:
                replay = once_more(rng_state=step.rng_state)
                yield _Attempt("step", functools.partial(replay.run, run), with_model and number < 2)
            for again in (False, True) if begin == 0 else (False,):
                replay = once_more(again=again)
                yield _Attempt("step", functools.partial(replay.run, run), with_model and number < 2)
    for model in step.models:
        yield _Attempt("model", functools.partial(find_in_model, model, slopes=step.slopes))


def training_lines(moments: Sequence[VariablesAt]) -> Iterator[StepStatements]:
    """From the innermost frame out to the training loop; what is outside of it would train all over again."""
    for moment in moments[:_OUTER_FRAMES]:
        around = lines_around(moment)
        yield from around
        if any(lines.in_loop for lines in around):
            return


def _in_fork(step: NonFiniteStep, attempt: Callable[[], Origin | None]) -> Origin | None:
    def task() -> str:
        torch.compiler.set_stance("force_eager")
        origin = attempt()
        if origin is not None and origin.phase == "input" and step.dataset is not None:
            origin = dataclasses.replace(origin, samples=find_bad_samples(step.dataset))
        return "null" if origin is None else json.dumps(dataclasses.asdict(origin))

    forked = ForkedTask(task, _TIME_LIMIT_S, urgent=True)
    text = forked.wait()
    plain = json.loads(text) if forked.ended == "done" else None
    found = from_plain("Origin", plain) if plain else None
    return found if isinstance(found, Origin) else None


def find_in_lines(moment: VariablesAt, models: Sequence[Model], *, again: bool) -> Origin | None:
    """In this very process, where a fork cannot be: only from the line on that calls a model.

    again: the models are given what they were given in the step, whatever the lines say.
    """
    for lines in lines_around(moment)[:1]:
        run = lines.function(lines.beginnings()[0], bare=True) if lines.statements else None
        if run is not None:
            with contextlib.ExitStack() as traces:
                for model in models:
                    traces.enter_context(leaving_no_trace(model.module))
                return StepReplay(models, apart=True, again=again).run(run)
    return None


def can_fork(models: Sequence[Model]) -> bool:
    """Not with CUDA at work: a fork cannot use it."""
    if not hasattr(os, "fork"):
        return False
    return all(parameter.device.type == "cpu" for model in models for parameter in model.module.parameters())


class _PointReached(BaseException):
    """The lines have come to the point; no `except Exception` of the user's may catch it."""


class StepReplay:
    """One run of a step's lines: stand-ins for what they must not do again, and the hunter."""

    def __init__(
        self,
        models: Sequence[Model],
        *,
        batch: Any = None,
        again: bool = False,
        apart: bool = False,
        rng_state: torch.Tensor | None = None,
        loss: str = "",
        raised: bool = False,
    ) -> None:
        """
        again: the models are given what they were given in the step, whatever the lines say.
        apart: in the training's own process, whose gradients and loaders must not be touched.
        loss: what it was in the step, nan, inf or -inf; another one is another story.
        raised: they end in an exception, and the number is in the frames that raise it.
        rng_state: when the lines begin; without it, each model meets its own at its first call.
        """
        names: dict[int, str] = {}
        paths: dict[int, str] = {}
        for model in models:
            names |= parameter_names(model.module, model.paths)
            paths |= model.paths
        self._models, self._batch = models, batch
        self._again, self._apart, self._rng_state, self._loss = again, apart, rng_state, loss
        self._raised = raised
        self._hunter = NonFiniteMode(paths, names)
        self._found: Origin | None = None

    def run(self, lines: Callable[[], Any]) -> Origin | None:
        if not self._apart:
            for model in self._models:
                model.module.zero_grad()  # what the step itself has left there
        if self._rng_state is not None:
            torch.set_rng_state(self._rng_state)
        with contextlib.suppress(_PointReached), torch.enable_grad(), self._stand_ins(), self._hunter:
            try:
                lines()
            except Exception as error:  # of the user's lines, which may refuse in any way they like
                self._found = self._behind(error) if self._raised else None
        return self._found

    def _behind(self, error: Exception) -> Origin | None:
        """Who made the numbers that are not finite in the frames of this exception, the innermost first."""
        traced: list[Origin] = []
        traceback = error.__traceback__
        while traceback is not None:
            origin = self._hunter.origin_of(list(traceback.tb_frame.f_locals.values()))
            traced = [origin, *traced] if origin is not None else traced
            traceback = traceback.tb_next
        return traced[0] if traced else None

    @contextlib.contextmanager
    def _stand_ins(self) -> Iterator[None]:
        entries: list[tuple[Any, str, Any]] = [
            (torch.autograd, "backward", self._backward),
            (_BaseDataLoaderIter, "__next__", lambda iterator: self._next_batch()),
            (DataLoader, "__iter__", lambda loader: iter((self._next_batch(),))),
        ]
        if self._apart:
            entries += [(owner, "zero_grad", lambda *_, **__: None) for owner in (Optimizer, nn.Module)]
        handles = [register_optimizer_step_pre_hook(self._before_update), *map(self._prepare, self._models)]
        try:
            with replaced(entries):
                yield
        finally:
            for handle in handles:
                handle.remove()

    def _reach(self, origin: Origin | None) -> None:
        self._found = origin
        raise _PointReached

    def _backward(self, tensors: Any, *arguments: Any, **keywords: Any) -> None:
        bad = [word_for(each, state) for each in tensors_in(tensors) if (state := state_of(each)) != FINITE]
        if bad and self._loss not in ("", *bad):
            self._reach(None)
        if bad:
            self._reach(self._hunter.origin_of(tensors) or self._hunter.origin_of(tensors, masks=True))
        if self._apart:
            gradients = arguments[0] if arguments else keywords.get("grad_tensors")
            self._hunter.backward_apart(tensors, gradients, leaves_of(tensors_in(tensors))[0])
        else:
            self._hunter.backward(tensors, *arguments, **keywords)
        if self._hunter.slope() is not None:
            self._reach(self._hunter.slope())

    def _before_update(self, optimizer: Optimizer, *_: Any) -> None:
        """The lines end here; the user's own code may have changed the gradients since the backward."""
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None]
        wrong = not self._apart and any(state_of(gradient) != FINITE for gradient in gradients)
        self._reach(self._hunter.origin_of(gradients) if wrong else None)

    def _next_batch(self) -> Any:
        """The workers of a loader belong to the training: whoever asks gets the step's batch once more."""
        return self._reach(None) if self._apart else self._batch

    def _prepare(self, model: Model) -> Any:
        """At its first call the model meets the random state, and maybe the inputs, that it had in the step."""
        waiting = [model]

        def before(module: nn.Module, arguments: Any, keywords: Any) -> Any:
            if not waiting or not torch.is_grad_enabled():
                return None
            waiting.clear()
            if self._rng_state is None:
                model.restore_randomness(first=True)
            return model.call if self._again else None

        return model.module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)


_SAMPLES_TIME_LIMIT_S = 2.0
_MOST = 10


def find_bad_samples(dataset: Any) -> tuple[int, ...]:
    """The first ten, looked for from the beginning for two seconds; in a fork: it runs the user's code."""
    found: list[int] = []
    deadline = time.monotonic() + _SAMPLES_TIME_LIMIT_S
    with contextlib.suppress(Exception):  # the user's own __len__ and __getitem__ may raise anything
        for index in range(len(dataset)):
            if time.monotonic() > deadline or len(found) == _MOST:
                break
            if _is_bad(dataset[index]):
                found.append(index)
    return tuple(found)


def _is_bad(sample: Any, depth: int = 0) -> bool:
    if isinstance(sample, torch.Tensor):
        return sample.is_floating_point() and not bool(torch.isfinite(sample).all())
    if isinstance(sample, numpy.ndarray | numpy.floating):
        return sample.dtype.kind == "f" and not bool(numpy.isfinite(sample).all())
    if isinstance(sample, float):
        return not numpy.isfinite(sample)
    if depth < 3 and isinstance(sample, (tuple, list)):
        return any(_is_bad(item, depth + 1) for item in sample)
    if depth < 3 and isinstance(sample, Mapping):
        return any(_is_bad(item, depth + 1) for item in sample.values())
    return False
