"""ReLUs that let a slope through while they are silent, so that an image can find the way to a silent unit.

Values stay what they are. Only a gradient that would raise a silent input passes; one that would lower it
further is stopped, as a ReLU does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_ANEW = (functional.relu, torch.relu, torch.Tensor.relu)
_IN_PLACE = (torch.relu_, torch.Tensor.relu_)


class AwakeRelus(TorchFunctionMode):
    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if function in _ANEW and args and not (kwargs.get("inplace") or (len(args) > 1 and args[1])):
            return _awake(args[0])
        if args and (function in _IN_PLACE or function is functional.relu):
            return args[0].copy_(_awake(args[0].clone()))
        return function(*args, **kwargs)


class _Awake(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, given: torch.Tensor) -> torch.Tensor:
        context.save_for_backward(given)
        return given.clamp(min=0)

    @staticmethod
    def backward(context: Any, slope: torch.Tensor) -> torch.Tensor:
        (given,) = context.saved_tensors
        return torch.where((given > 0) | (slope > 0), slope, 0.0)


def _awake(given: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _Awake.apply(given)  # type: ignore[no-untyped-call]
    return result
