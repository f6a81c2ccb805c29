"""The case of a pre-flight: a model and one batch, with the loss and the optimizer that belong to them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from torch_debugger.anatomy.nested import copied, exchanged, tensors_in
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.trials.preflight.weights import weights_kept

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
