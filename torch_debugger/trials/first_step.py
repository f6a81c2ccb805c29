"""A script's first step taken over: which of its lines give the same loss once more, and the case they make."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.model.nested_tensors import copied, tensors_in
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.source.files import tree_of
from torch_debugger.source.frames import locals_of
from torch_debugger.source.variables import VariablesAt
from torch_debugger.trials.nan_in_forward import Model
from torch_debugger.trials.nan_in_step import training_lines
from torch_debugger.trials.nan_operations import leaves_of
from torch_debugger.trials.preflight_case import Call, Case, NotPossibleError, optimized
from torch_debugger.trials.step_lines import ONCE_MORE, StepStatements, replaced

Apart = Callable[[Callable[[], str]], str]  # runs something elsewhere: its text, empty where it failed

_SAME = 1e-3  # of the loss
_MOST_SCALE = 1024.0  # a scaler begins higher and comes down by leaving steps out
_TIMES = {1: "once", 2: "twice", 3: "three times"}


@dataclass(frozen=True)
class FirstBackward:
    """What is known at the first backward of a script."""

    moments: Sequence[VariablesAt]  # of the user's frames, innermost first
    models: Mapping[str, Model]  # under the user's names
    optimizers: Sequence[Optimizer]
    loss: float
    batch: Any = None  # the last one that a loader gave
    names_gpu: bool = True  # somewhere in the script
    scale: float = 1.0  # by which a GradScaler has multiplied the loss


@dataclass(frozen=True)
class LineRun:
    """How lines are run again."""

    lines: StepStatements
    begin: int
    bare: bool  # without what is called only for what it does besides
    given: bool  # the first model is given what it was given in the step, whatever the lines say

    @property
    def file(self) -> str:
        return self.lines.moment.file

    def function(self) -> Callable[[], Any] | None:
        return self.lines.function(self.begin, bare=self.bare)


def case_at_backward(state: FirstBackward, apart: Apart) -> tuple[Case, LineRun | OwnLoss | None]:
    """With the first way that gives the step's own loss; without one, a case that has no loss."""
    ways: Iterable[LineRun | OwnLoss] = itertools.chain(_ways(state), own_losses(state.models, state.batch))
    for way in ways:
        text = apart(functools.partial(_attempt, state, way))
        found = json.loads(text) if text else {}
        if found and math.isclose(found["loss"], state.loss, rel_tol=_SAME, abs_tol=1e-9):
            return _case(state, way, found), way
    return _case_without_loss(state), None


def _ways(state: FirstBackward) -> Iterator[LineRun]:
    for lines in training_lines(state.moments):
        first = lines.first_model_call()
        if first is not None:
            for begin in dict.fromkeys((first, 0)):
                yield from (
                    LineRun(lines, begin, bare, with_call) for bare in (True, False) for with_call in (False, True)
                )


def _attempt(state: FirstBackward, way: LineRun | OwnLoss) -> str:
    """The loss by these lines, the models called for it and the parameters it reaches; else nothing."""
    for model in reversed([*state.models.values()]):  # the first one met has the last word
        model.restore_randomness(first=True)
    call = next((model.call for model in state.models.values() if model.call), None) if way.given else None
    with contextlib.suppress(Exception), contextlib.ExitStack() as traces:  # the user's lines may raise anything
        for model in state.models.values():
            traces.enter_context(leaving_no_trace(model.module))
        passage = _lines(state, way, [model.module for model in state.models.values()]).run(call)
        loss = passage.loss
        if loss is None or not loss.requires_grad or loss.numel() != 1:
            return "{}"
        names = {id(model.module): name for name, model in state.models.items()}
        reached = {id(each) for each in leaves_of([loss])[0]}  # in a fork, objects have the ids of its parent
        calls = list(zip(passage.called, passage.outputs, strict=True))
        own = [call for call in calls if any(id(each) in reached for each in call[0].parameters())] or calls
        chained = bool(own)
        if len(own) > 1:  # whether what the last model gives is made of what the first one gave
            first = {id(each) for each in own[0][0].parameters()}
            chained = any(id(each) in first for each in leaves_of(tensors_in(own[-1][1]))[0])
        called = [names[id(module)] for module, _ in own]
        return json.dumps({"loss": loss.item(), "reached": list(reached), "chained": chained, "called": called})
    return "{}"


def _lines(state: FirstBackward, way: LineRun | OwnLoss, models: Iterable[nn.Module]) -> StepLines:
    run = way.function()
    if run is None:
        raise NotPossibleError("The lines of the step cannot be run again: they await or yield something.")
    return StepLines(run, list(models), state.batch)


def _case(state: FirstBackward, way: LineRun | OwnLoss, found: Mapping[str, Any]) -> Case:
    called: Sequence[str] = found["called"]
    models = {name: state.models[name].module for name in dict.fromkeys(called)}
    lines, once = _lines(state, way, models.values()), len(models) == len(called)
    call = state.models[called[0]].call if called else None
    times = " and ".join(f"`{name}` {_TIMES.get(called.count(name), 'often')}" for name in models)
    nodes = ast.walk(tree_of(way.file) or ast.Module([], []))
    return Case(
        models=models,
        call=call if call is not None else ((), {}),
        compute=lambda inputs: lines.loss(inputs if once else None),
        forward=functools.partial(_forward, list(models.values()), lines if found["chained"] else None),
        optimizer=_optimizer(state, set(found["reached"])),
        on_gpu=state.names_gpu,
        scale=min(state.scale, _MOST_SCALE),
        clips=any(getattr(node, "attr", getattr(node, "id", "")).startswith("clip_grad") for node in nodes),
        no_inputs="" if once and call is not None else f"The step calls {times or 'no model'}.",
    )


def _forward(models: Sequence[nn.Module], lines: StepLines | None, call: Call) -> Any:
    """Of one model its own output, of a chain of them that of the last."""
    if len(models) == 1:
        return models[0](*call[0], **call[1])
    if lines is None:
        raise NotPossibleError("The step calls several models that do not follow one another.")
    return lines.run(call).outputs[-1]


def _case_without_loss(state: FirstBackward) -> Case:
    sizes = {name: sum(each.numel() for each in model.module.parameters()) for name, model in state.models.items()}
    known = [name for name in sorted(sizes, key=lambda name: -sizes[name]) if state.models[name].call is not None]
    if not known:
        raise NotPossibleError("No model was called before the first backward().")
    model = state.models[known[0]]
    assert model.call is not None

    def compute(call: Call) -> torch.Tensor:
        raise NotPossibleError("The lines from the model to the loss do not give the same loss when run again.")

    optimizer = _optimizer(state, {id(each) for each in model.module.parameters()})
    forward = functools.partial(_forward, [model.module], None)
    return Case({known[0]: model.module}, model.call, compute, forward, optimizer, state.names_gpu)


def _optimizer(state: FirstBackward, reached: set[int]) -> Optimizer | None:
    """The one that holds most of the parameters which this loss reaches."""
    shared = [sum(id(each) in reached for each in optimized(optimizer)) for optimizer in state.optimizers]
    return state.optimizers[shared.index(max(shared))] if any(shared) else None


class _BackwardReached(BaseException):
    """The lines have come to backward(); no `except Exception` of the user's may catch it."""


@dataclass
class Passage:
    """One run of the lines."""

    loss: torch.Tensor | None = None
    called: list[nn.Module] = field(default_factory=list)  # the models that were, with gradients on
    outputs: list[Any] = field(default_factory=list)  # of each of these calls
    variables: dict[str, Any] = field(default_factory=dict)  # of the loop, as backward() left them


class StepLines:
    def __init__(self, lines: Callable[[], Any], models: Sequence[nn.Module], batch: Any) -> None:
        self._lines = lines
        self._models = models
        self._batch = batch  # the last one that a loader gave

    def loss(self, call: Call | None) -> torch.Tensor:
        found = self.run(call).loss
        assert found is not None
        return found

    def run(self, call: Call | None, backward: Callable[[torch.Tensor], None] | None = None) -> Passage:
        """Up to backward(), which is not made unless by `backward`, while all the variables are alive.

        `call`: what the first model gets, whatever the lines say.
        """
        passage = Passage()
        original = torch.autograd.backward

        def reach(tensors: Any, *arguments: Any, **keywords: Any) -> None:
            passage.loss = tensors[0] if isinstance(tensors, (tuple, list)) else tensors
            if backward is not None:
                passage.outputs.clear()  # they live as long as the user's variables let them
                with replaced([(torch.autograd, "backward", original)]):
                    backward(passage.loss)
                frame: FrameType | None = sys._getframe(1)
                while frame is not None and frame.f_code.co_name != ONCE_MORE:
                    frame = frame.f_back
                passage.variables = locals_of(frame) if frame is not None else {}
            raise _BackwardReached

        def leave(*arguments: Any, **keywords: Any) -> None:
            """Not made here: the trial clears gradients and steps itself."""

        stand_ins: list[tuple[Any, str, Any]] = [
            (torch.autograd, "backward", reach),
            (torch.amp.GradScaler, "scale", lambda scaler, outputs: outputs),
            (_BaseDataLoaderIter, "__next__", lambda iterator: self._batch),
            (DataLoader, "__iter__", lambda loader: iter((self._batch,))),
            (Optimizer, "zero_grad", leave),
            (nn.Module, "zero_grad", leave),
        ]
        with (
            contextlib.suppress(_BackwardReached),
            torch.enable_grad(),
            replaced(stand_ins),
            self._recording(passage, call),
        ):
            self._lines()
        if passage.loss is None:
            raise NotPossibleError("The lines of the step do not come to backward() when they are run again.")
        return passage

    @contextlib.contextmanager
    def _recording(self, passage: Passage, call: Call | None) -> Iterator[None]:
        def before(module: nn.Module, arguments: Any, keywords: Any) -> Any:
            if not torch.is_grad_enabled():
                return None
            passage.called.append(module)
            return call if len(passage.called) == 1 else None

        def after(module: nn.Module, arguments: Any, output: Any) -> None:
            if torch.is_grad_enabled():
                passage.outputs.append(output)

        handles = [each.register_forward_pre_hook(before, with_kwargs=True) for each in self._models]
        handles += [each.register_forward_hook(after) for each in self._models]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


# Steps without a line of the user's from the model to the loss: a trainer of a library has them.
#
# Two kinds can be run again nevertheless: models that give their loss with their output, when they are given the
# labels, and modules with a `training_step`, which gives the loss of a batch.
_SHARES = (1, 2, 4, 8, 16, 32)  # a trainer divides the loss by the batches it accumulates
_MOST_LOSSES = 4  # of an output
_LOGGING = ("log", "log_dict")  # of a LightningModule; allowed in its own loop only


@dataclass(frozen=True)
class OwnLoss:
    """How such a loss is computed; what is computed ends in backward(), as the lines of a script do."""

    compute: Callable[[], torch.Tensor]
    given: bool = True  # the model is given what it was given in the step
    file: str = ""  # where gradients would be clipped
    number: int = 0  # among all that are tried

    def function(self) -> Callable[[], Any]:
        return lambda: torch.autograd.backward(self.compute())


def own_losses(models: Mapping[str, Model], batch: Any) -> Iterator[OwnLoss]:
    numbers = itertools.count()
    for model, share in itertools.product(models.values(), _SHARES):
        if callable(getattr(model.module, "training_step", None)) and batch is not None:
            compute = functools.partial(_loss_of_training_step, model.module, batch, share)
            yield OwnLoss(compute, given=False, number=next(numbers))
        elif model.call is not None:
            for place in range(_MOST_LOSSES):
                yield OwnLoss(functools.partial(_loss_in_output, model, place, share), number=next(numbers))


def _loss_in_output(model: Model, place: int, share: int) -> torch.Tensor:
    assert model.call is not None
    arguments, keywords = copied(model.call)
    found = tensors_in(model.module(*arguments, **keywords))
    return [each for each in found if each.numel() == 1 and each.requires_grad][place] / share


def _loss_of_training_step(module: nn.Module, batch: Any, share: int) -> torch.Tensor:
    for name in _LOGGING:
        module.__dict__[name] = lambda *arguments, **keywords: None
    try:
        result = module.training_step(copied(batch), 0)  # type: ignore[operator]
    finally:
        for name in _LOGGING:
            module.__dict__.pop(name, None)
    loss = result["loss"] if isinstance(result, Mapping) else result
    return torch.as_tensor(loss) / share
