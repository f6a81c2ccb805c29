"""The case of a pre-flight: a model and one batch, with the loss and the optimizer that belong to them."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping
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

    def reordered(self, order: Callable[[torch.Tensor], torch.Tensor]) -> Call:
        """The same call with the samples of each input in another order."""
        count = self.samples
        return self.changed(lambda each: order(each) if each.dim() and each.shape[0] == count else each)

    def rows(self, value: Any) -> list[torch.Tensor]:
        """The tensors among inputs or outputs with a row for each sample of the batch."""
        count = self.samples
        return [each for each in tensors_in(value) if each.dim() and each.shape[0] == count]

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
        chosen = {id(each) for each in optimized(self.optimizer)}
        found: dict[int, tuple[str, nn.Parameter]] = {}
        for name, model in self.models.items():
            for path, each in model.named_parameters():
                if each.requires_grad and (not chosen or id(each) in chosen):
                    found.setdefault(id(each), (f"{name}.{path}", each))
        return dict(found.values())

    @contextlib.contextmanager
    def undone(self) -> Iterator[None]:
        """Whatever happens inside to weights, buffers, gradients, optimizer and random state is put back."""
        with contextlib.ExitStack() as stack:
            for model in self.models.values():
                stack.enter_context(leaving_no_trace(model))
            stack.enter_context(self._weights_kept())
            stack.enter_context(torch.enable_grad())
            yield

    @contextlib.contextmanager
    def _weights_kept(self) -> Iterator[None]:
        """In place: who refers to a parameter or the optimizer finds the same objects with the same numbers."""
        modelled: list[torch.Tensor] = [each for model in self.models.values() for each in model.parameters()]
        # a script may train what no model registers
        tensors = {id(each): each for each in [*modelled, *optimized(self.optimizer)]}
        before = [(each, each.detach().clone(), each.grad, each.requires_grad) for each in tensors.values()]
        optimizer = self.optimizer
        all_groups = optimizer.param_groups if optimizer is not None else []
        groups = copy.deepcopy([{key: each for key, each in group.items() if key != "params"} for group in all_groups])
        state = {key: _copied(value) for key, value in optimizer.state.items()} if optimizer is not None else {}
        for tensor in tensors.values():
            tensor.grad = None
        try:
            yield
        finally:
            for tensor, numbers, gradient, learns in before:
                tensor.data.copy_(numbers)
                tensor.grad = gradient
                tensor.requires_grad_(learns)
            if optimizer is not None:
                for group, old in zip(optimizer.param_groups, groups, strict=True):
                    group.update(old)
                optimizer.state.clear()
                optimizer.state.update(state)

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


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return copy.copy(value)


def optimized(optimizer: Optimizer | None) -> list[torch.Tensor]:
    groups = optimizer.param_groups if optimizer is not None else []
    return [each for group in groups for each in group["params"]]


LossFunction = Callable[[Any, Any], torch.Tensor]


def case_of(name: str, model: nn.Module, loss_fn: LossFunction, batch: Any, optimizer: Optimizer | None) -> Case:
    """The model and the optimizer are copied together: the one's copy holds the parameters of the other's."""
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise UsageError("doctor() takes a batch of two: (inputs, targets).")
    inputs, targets = batch
    if next(tensors_in(inputs), None) is None:
        raise UsageError("doctor() found no tensor in the inputs, the first of the batch's two parts.")
    call: Call = (tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,), {})
    if isinstance(inputs, Mapping):
        call = (), dict(inputs)
    try:
        model_copy, optimizer_copy = copy.deepcopy((model, optimizer))
    except Exception as error:  # copying runs the user's code
        raise UsageError(f"doctor() works on a copy of the model, which cannot be made: {error}") from error

    def compute(call: Call) -> torch.Tensor:
        return one_number(loss_fn(model_copy(*call[0], **call[1]), copied(targets)), "loss_fn(output, targets)")

    return Case({name: model_copy}, call, compute, lambda call: model_copy(*call[0], **call[1]), optimizer_copy)


def one_number(loss: Any, function: str) -> torch.Tensor:
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        kind = f"a tensor of shape {list(loss.shape)}" if isinstance(loss, torch.Tensor) else type(loss).__name__
        raise UsageError(f"{function} must give one number as a tensor, not {kind}.")
    return loss


def steps(count: int) -> str:
    return f"{count} step{'s' * (count != 1)}"


def passed(name: str, message: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "passed", message, "", numbers)


def failed(name: str, message: str, advice: str, **numbers: float) -> TrialResult:
    return TrialResult(name, "failed", message, advice, numbers)


def untried(name: str, reason: str) -> TrialResult:
    """Also where it was tried and nothing can be said."""
    return TrialResult(name, "untried", reason)
