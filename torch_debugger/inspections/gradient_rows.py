"""What is known of each parameter's gradient: numbers first, judged by none but their own kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import nn

from torch_debugger.anatomy.layers import clean_path
from torch_debugger.stats.census import TensorStats, count, read_counted

LAST_BITS = (
    10.0  # roundings of the weight; a step with lr 0.01 along so short a gradient changes hardly a weight
)
FAR_BELOW = 1e-3  # of the largest root mean square in the model


@dataclass(frozen=True)
class GradientRow:
    """One parameter; `status` is none, zero, tiny, fine or not finite, and `why` says how that comes."""

    name: str
    shape: tuple[int | str, ...]
    status: str
    trained: bool  # requires_grad
    gradient: TensorStats | None
    weight: TensorStats
    also: tuple[str, ...] = ()  # its other names, where it is shared
    why: str = ""
    expected: bool = False  # nothing to worry about, though not `fine`

    @property
    def ok(self) -> bool:
        return self.status == "fine" or self.expected

    @property
    def norm(self) -> float | None:
        """None where there is no gradient, or one with NaN or Inf in it."""
        return self.gradient.norm if self.gradient is not None and self.gradient.finite else None

    @property
    def ratio(self) -> float | None:
        """The gradient's norm as a share of the weight's."""
        return self.norm / self.weight.norm if self.norm is not None and self.weight.norm else None


def read_rows(model: nn.Module) -> list[GradientRow]:
    """All parameters in the model's order, their numbers in one transfer."""
    names: dict[nn.Parameter, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(clean_path(name))
    found = [value for parameter in names for value in (parameter, parameter.grad) if value is not None]
    stats = iter(read_counted([count(value) for value in found]))
    read = [(parameter, next(stats), None if parameter.grad is None else next(stats)) for parameter in names]
    largest = max((rms(gradient) for _, _, gradient in read if gradient is not None), default=0.0)
    return [
        GradientRow(
            name=names[parameter][0],
            shape=weight.shape,
            status=_status(gradient, weight, largest),
            trained=parameter.requires_grad,
            gradient=gradient,
            weight=weight,
            also=tuple(names[parameter][1:]),
        )
        for parameter, weight, gradient in read
    ]


def rms(stats: TensorStats) -> float:
    """The root mean square: a size that does not grow with the number of elements."""
    return stats.norm / math.sqrt(stats.count) if stats.count else 0.0


def is_below_normal(gradient: TensorStats) -> bool:
    """Most of its digits are lost: smaller than the dtype's smallest number of full precision."""
    return rms(gradient) < torch.finfo(getattr(torch, gradient.dtype)).tiny


def _status(gradient: TensorStats | None, weight: TensorStats, largest: float) -> str:
    if gradient is None:
        return "none"
    if not gradient.finite:
        return "not finite"
    if gradient.zeros == gradient.count:
        return "zero"
    return "tiny" if is_below_normal(gradient) or _rounds_away(gradient, weight, largest) else "fine"


def _rounds_away(gradient: TensorStats, weight: TensorStats, largest: float) -> bool:
    last_bit = torch.finfo(getattr(torch, weight.dtype)).eps
    return gradient.norm < LAST_BITS * last_bit * weight.norm and rms(gradient) < FAR_BELOW * largest
