"""The case of a pre-flight: a model and one batch, with the loss and the optimizer that belong to them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.model.nested_tensors import copied, exchanged, tensors_in
from torch_debugger.model.reruns import leaving_no_trace
from torch_debugger.records import TrialResult
from torch_debugger.system.errors import UsageError

Call = tuple[tuple[Any, ...], dict[str, Any]]


class NotPossibleError(Exception):
    """A trial cannot be made here; the text says why."""


@dataclass(frozen=True)
class Case:
    """Trials may do with the models what they like: what they do is undone after each of them."""

    models: Mapping[str, nn.Module]  # under the user's names
    call: Call  # what the first of them is given
    compute: Callable[[Call], torch.Tensor]  # the loss, from a call of the first model on
    forward: Callable[[Call], Any]  # what the last model gives; may raise NotPossibleError
    optimizer: Optimizer | None = None
    on_gpu: bool = True  # it is meant to run on a GPU, as far as is known
    clips: bool = False  # gradients are clipped before the update, which trials do not do
    scale: float = 1.0  # that a GradScaler gives the loss for its backward
    no_inputs: str = ""  # why its inputs cannot be exchanged for others; empty where they can

    def loss(self, call: Call | None = None) -> torch.Tensor:
        return self.compute(copied(self.call) if call is None else call)

    def output(self, call: Call | None = None) -> Any:
        return self.forward(copied(self.call) if call is None else call)

    def backward(self, loss: torch.Tensor) -> None:
        """Gradients as they are without a scale; with one, small numbers of float16 are not lost on the way."""
        (loss * self.scale).backward()  # type: ignore[no-untyped-call]
        for parameter in self.parameters().values() if self.scale != 1.0 else ():
            if parameter.grad is not None:
                parameter.grad /= self.scale

    def changed(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        """The same call with other tensors in it."""
        call: Call = exchanged(copied(self.call), change)
        return call

    @property
    def samples(self) -> int:
        """The size of the batch: the first dimension of what the model is given."""
        return next((each.shape[0] for each in tensors_in(self.call) if each.dim()), 0)

    def require_samples(self, fewest: int) -> int:
        """How many there are, where they can be exchanged and are as many as that."""
        if self.no_inputs:
            raise NotPossibleError(self.no_inputs)
        if self.samples < fewest:
            count = "one sample" if self.samples == 1 else f"{self.samples} samples"
            raise NotPossibleError(f"The batch has {count}, and this takes {fewest} at least.")
        return self.samples

    def modules(self) -> Iterator[nn.Module]:
        for model in self.models.values():
            yield from model.modules()

    def parameters(self) -> dict[str, nn.Parameter]:
        """Those to be learned; each once, under its first name."""
        named = ((f"{name}.{path}", each) for name, model in self.models.items() for path, each in _of(model))
        held = {id(each) for each in self._held()}
        found: dict[int, tuple[str, nn.Parameter]] = {}
        for path, each in named:
            if each.requires_grad and (not held or id(each) in held):
                found.setdefault(id(each), (path, each))
        return dict(found.values())

    def _held(self) -> list[torch.Tensor]:
        return [] if self.optimizer is None else optimized(self.optimizer)

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens inside to weights, buffers, gradients, optimizer and random state is put back."""
        with contextlib.ExitStack() as stack:
            for model in self.models.values():
                stack.enter_context(leaving_no_trace(model))
            stack.enter_context(weights_kept(list(self.models.values()), self.optimizer))
            stack.enter_context(torch.enable_grad())
            yield

    @contextlib.contextmanager
    def evaluating(self) -> Iterator[None]:
        """In eval mode; afterwards each module is in the mode it was in."""
        before = [(module, module.training) for module in self.modules()]
        for model in self.models.values():
            model.eval()
        try:
            yield
        finally:
            for module, training in before:
                module.training = training


def _of(model: nn.Module) -> Iterator[tuple[str, nn.Parameter]]:
    return model.named_parameters()


def optimized(optimizer: Optimizer) -> list[torch.Tensor]:
    return [each for group in optimizer.param_groups for each in group["params"]]


# The case of `doctor(model, loss_fn, batch, optimizer)`: copies of what it is given.
LossFunction = Callable[[Any, Any], torch.Tensor]


def case_of(name: str, model: nn.Module, loss_fn: LossFunction, batch: Any, optimizer: Optimizer | None) -> Case:
    """The model and the optimizer are copied together: the one's copy holds the parameters of the other's."""
    call, targets = _split(batch)
    twin, twin_optimizer = _twins(model, optimizer)

    def compute(given: Call) -> torch.Tensor:
        loss = loss_fn(twin(*given[0], **given[1]), copied(targets))
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise UsageError(f"loss_fn(output, targets) must give one number as a tensor, not {_shown(loss)}.")
        return loss

    return Case({name: twin}, call, compute, lambda given: twin(*given[0], **given[1]), twin_optimizer)


def _split(batch: Any) -> tuple[Call, Any]:
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise UsageError("doctor() takes a batch of two: (inputs, targets).")
    inputs, targets = batch
    if next(tensors_in(inputs), None) is None:
        raise UsageError("doctor() found no tensor in the inputs, the first of the batch's two parts.")
    if isinstance(inputs, Mapping):
        return ((), dict(inputs)), targets
    return (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {}), targets


def _twins(model: nn.Module, optimizer: Optimizer | None) -> tuple[nn.Module, Optimizer | None]:
    try:
        twins: tuple[nn.Module, Optimizer | None] = copy.deepcopy((model, optimizer))
    except Exception as error:  # copying runs the user's code
        raise UsageError(f"doctor() works on a copy of the model, which cannot be made: {error}") from error
    return twins


def _shown(value: Any) -> str:
    return f"a tensor of shape {list(value.shape)}" if isinstance(value, torch.Tensor) else type(value).__name__


# The three ways a trial can end.
def steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def passed(name: str, message: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "passed", message, "", numbers)


def failed(name: str, message: str, advice: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "failed", message, advice, numbers)


def untried(name: str, reason: str) -> TrialResult:
    """Also where it was tried and nothing can be said."""
    return TrialResult(name, "untried", reason)


# Weights, gradients and an optimizer's memory: kept, and put back.
@contextlib.contextmanager
def weights_kept(models: Sequence[nn.Module], optimizer: Optimizer | None) -> Iterator[None]:
    """In place: whoever holds a parameter or the optimizer finds the same objects with the same numbers."""
    held = {id(each): each for model in models for each in model.parameters()}
    # a script may train what no model registers
    held |= {id(each): each for group in _groups(optimizer) for each in group["params"]}
    before = [(each, each.detach().clone(), each.grad, each.requires_grad) for each in held.values()]
    groups, state = ([], {}) if optimizer is None else _memory(optimizer)
    for each in held.values():
        each.grad = None
    try:
        yield
    finally:
        for parameter, numbers, gradient, learns in before:
            parameter.data.copy_(numbers)
            parameter.grad = gradient
            parameter.requires_grad_(learns)
        if optimizer is not None:
            _restore(optimizer, groups, state)


def _groups(optimizer: Optimizer | None) -> list[dict[str, Any]]:
    return [] if optimizer is None else optimizer.param_groups


def _memory(optimizer: Optimizer) -> tuple[list[dict[str, Any]], dict[Any, Any]]:
    groups = [{key: value for key, value in group.items() if key != "params"} for group in optimizer.param_groups]
    return copy.deepcopy(groups), {key: _copied(value) for key, value in optimizer.state.items()}


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return copy.copy(value)


def _restore(optimizer: Optimizer, groups: list[dict[str, Any]], state: dict[Any, Any]) -> None:
    for group, before in zip(optimizer.param_groups, groups, strict=True):
        group.update(before)
    optimizer.state.clear()
    optimizer.state.update(state)
