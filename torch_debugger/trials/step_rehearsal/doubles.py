"""Tensors without data in the place of a step's own: its parameters, its optimizer's state, its batch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.optim import Optimizer

from torch_debugger.anatomy.nested import exchanged, tensors_in
from torch_debugger.anatomy.storage_tape import StorageTape
from torch_debugger.records.memory import BUFFERS, INPUTS, PARAMETERS, STATE


class Doubles:
    """Made inside a fake mode, each once. What is not of the model has the batch's size changed."""

    def __init__(self, batch: int, new_batch: int) -> None:
        self._batch = batch
        self._new_batch = new_batch
        self._known: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # with the original, whose id must last
        self._fixed: set[int] = set()  # tensors of the modules
        self.tape: StorageTape | None = None

    def __call__(self, value: Any) -> Any:
        return exchanged(value, self.of)

    def of(self, tensor: torch.Tensor) -> torch.Tensor:
        if isinstance(tensor, FakeTensor) or tensor.dim() == 0:  # a number may stay what it is
            return tensor
        if id(tensor) not in self._known:
            self._make(tensor, INPUTS, () if id(tensor) in self._fixed else self._resized(tensor))
        return self._known[id(tensor)][1]

    def dress(self, model: nn.Module) -> None:
        """For good: this happens in a process of its own."""
        for module in model.modules():
            for name, parameter in module._parameters.items():
                if parameter is not None:
                    module._parameters[name] = self._parameter(parameter)
            for name, buffer in module._buffers.items():
                if buffer is not None:
                    module._buffers[name] = self._make(buffer, BUFFERS)
            if isinstance(module, nn.RNNBase):
                module._flat_weights = [getattr(module, name) for name in module._flat_weights_names]
            self._fixed.update(id(tensor) for tensor in _plain_tensors(module))

    def dress_optimizer(self, optimizer: Optimizer) -> None:
        state: Any = optimizer.state
        optimizer.state = defaultdict(dict)
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter in state:
                    optimizer.state[self._parameter(parameter)] = exchanged(state[parameter], self._state)
            group["params"] = [self._parameter(parameter) for parameter in group["params"]]

    def _parameter(self, parameter: torch.Tensor) -> Any:
        if isinstance(parameter, FakeTensor):
            return parameter
        if id(parameter) not in self._known:
            double = nn.Parameter(_empty(parameter), requires_grad=parameter.requires_grad)
            self._know(parameter, double, PARAMETERS)
        return self._known[id(parameter)][1]

    def _state(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor if tensor.dim() == 0 else self._make(tensor, STATE)

    def _make(self, tensor: torch.Tensor, category: str, size: tuple[int, ...] = ()) -> torch.Tensor:
        if isinstance(tensor, FakeTensor):
            return tensor
        if id(tensor) not in self._known:
            self._know(tensor, _empty(tensor, size), category)
        return self._known[id(tensor)][1]

    def _know(self, tensor: torch.Tensor, double: torch.Tensor, category: str) -> None:
        self._known[id(tensor)] = (tensor, double)
        if self.tape is not None:
            self.tape.hold(double, category)

    def _resized(self, tensor: torch.Tensor) -> tuple[int, ...]:
        is_batch = self._new_batch != self._batch and tensor.shape[0] == self._batch
        return (self._new_batch, *tensor.shape[1:]) if is_batch else ()


def _empty(tensor: torch.Tensor, size: tuple[int, ...] = ()) -> torch.Tensor:
    """In the same memory format but without gaps: a slice of a data set is no larger than itself."""
    strides: tuple[int, ...] = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: (-strides[dim], dim))
    whole = torch.empty_permuted(size or tuple(tensor.shape), order, dtype=tensor.dtype, device="cpu")
    return whole.requires_grad_(tensor.requires_grad and tensor.is_leaf)


def _plain_tensors(module: nn.Module) -> Iterator[torch.Tensor]:
    for name, value in vars(module).items():
        if name not in ("_parameters", "_buffers", "_modules"):
            yield from tensors_in(value)
