"""Stand-ins for a model's parameters and buffers, for one run: gradients and writes end with them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import torch
from torch import nn

from torch_debugger.anatomy.counting.shape_tensors import shape_twin
from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.anatomy.nested import exchanged, first_tensor

Twin = Callable[[torch.Tensor], torch.Tensor]
_KEPT = frozenset(vars(nn.Module()))


def without_values(tensor: torch.Tensor) -> torch.Tensor:
    """Whole numbers stay: a forward may count with them."""
    has_values = not tensor.is_meta
    whole = not (tensor.is_floating_point() or tensor.is_complex())
    return tensor.detach().clone() if whole and has_values else shape_twin(tensor)


def with_values(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory, but with gradients of its own."""
    twin = tensor.clone() if tensor.is_inference() else tensor.detach()
    if isinstance(tensor, nn.Parameter):
        twin._is_param = True
    return twin.requires_grad_(tensor.requires_grad)


@contextlib.contextmanager
def twinned(model: nn.Module, twin: Twin) -> Iterator[None]:
    """Inside of `as_if_never`, which puts buffers and attributes back. A tied parameter has one twin."""
    kept = [(module, dict(module._parameters)) for module in model.modules()]
    twins: dict[int, torch.Tensor] = {}
    try:
        for module, _ in kept:
            for held in (module._parameters, module._buffers):
                for name, tensor in held.items():
                    if tensor is not None:
                        held[name] = twins.setdefault(id(tensor), twin(tensor))  # type: ignore[assignment]
        for module, _ in kept:
            _exchange_in_attributes(module, twins)
        yield
    finally:
        for module, parameters in kept:
            module._parameters.update(parameters)


def _exchange_in_attributes(module: nn.Module, twins: dict[int, torch.Tensor]) -> None:
    """A recurrent layer keeps its weights in a list as well."""
    for name, value in list(vars(module).items()):
        if name not in _KEPT and is_one_of(value, (list, tuple, dict)) and first_tensor(value) is not None:
            vars(module)[name] = exchanged(value, lambda tensor: twins.get(id(tensor), tensor))
