"""Inputs for an autograd Function of which only the code is known: shapes that its forward takes."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from torch_debugger.trials.gradcheck.preparing import signature_of, takes_context

_SEED = 30_011
_NUMBERS = ("alpha", "beta", "eps", "epsilon", "gamma", "k", "lam", "lambd", "lambda_", "margin", "momentum",
            "negative_slope", "p", "power", "rate", "scale", "slope", "temperature", "threshold")  # fmt: skip
_COUNTS = ("dim", "axis", "bits", "groups", "kernel_size", "levels", "num_bits", "padding", "stride")
_INDICES = ("idx", "index", "indices", "label", "labels", "target", "targets")
# For the tensors in order; the last shape serves all that follow.
_PLANS: dict[str, tuple[tuple[int, ...], ...]] = {
    "alike": ((4, 5),),
    "linear": ((4, 5), (3, 5), (3,)),
    "product": ((4, 5), (5, 3), (3,)),
    "per feature": ((4, 5), (5,)),
    "square": ((4, 4),),
    "batches of matrices": ((2, 4, 5), (2, 5, 3)),
    "attention": ((2, 3, 4, 5),),
    "convolution": ((2, 3, 6, 6), (4, 3, 3, 3), (4,)),
    "vectors": ((5,),),
    "single numbers": ((),),
}


@dataclass(frozen=True)
class Guess:
    inputs: tuple[Any, ...]
    words: str  # x [4, 5], weight [3, 5], eps 0.5


def guesses(function: type[torch.autograd.Function]) -> Iterator[Guess]:
    """From the likeliest on; positive tensors where others may lie outside the domain."""
    parameters = required_parameters(function)
    names = [parameter.name for parameter in parameters]
    plans = list(_PLANS.values())
    if any(name.lower().startswith(("weight", "kernel")) or name == "w" for name in names):
        plans.sort(key=lambda plan: plan not in (_PLANS["linear"], _PLANS["convolution"], _PLANS["product"]))
    # A gamma may be a number or a tensor; what may be either is tried as both.
    for kinds in (_NUMBERS, ()):
        for plan, positive in itertools.product(plans, (False, True)):
            yield _guess(parameters, plan, positive, kinds)


def required_parameters(function: type[torch.autograd.Function]) -> list[inspect.Parameter]:
    """Forward's parameters after ctx; those with a default keep it. `*inputs` counts as one."""
    found = list(inspect.signature(signature_of(function.apply)).parameters.values())
    found = found[1:] if takes_context(function) else found
    return [each for each in found if each.default is each.empty and each.kind is not each.VAR_KEYWORD]


def as_given(function: type[torch.autograd.Function], given: Sequence[Any]) -> Guess:
    """A tuple is the shape of a tensor; all else is passed as it is."""
    generator = torch.Generator().manual_seed(_SEED)
    values = [_drawn(each, generator, positive=False) if isinstance(each, tuple) else each for each in given]
    names = [parameter.name for parameter in required_parameters(function)]
    names += [f"input {place}" for place in range(len(names), len(values))]
    return Guess(tuple(values), _listed(names, values))


def _guess(
    parameters: list[inspect.Parameter], plan: Sequence[tuple[int, ...]], positive: bool, numbers: Sequence[str]
) -> Guess:
    generator = torch.Generator().manual_seed(_SEED)
    values: list[Any] = []
    tensors = 0
    for parameter in parameters:
        value: Any = _number(parameter, numbers)
        if value is None:
            shape = plan[min(tensors, len(plan) - 1)]
            value = _tensor(parameter.name, shape, plan[0], generator, positive)
            tensors += 1
        values.append(value)
    return Guess(tuple(values), _listed([parameter.name for parameter in parameters], values))


def _number(parameter: inspect.Parameter, numbers: Sequence[str]) -> float | int | bool | None:
    kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
    name = parameter.name.lower()
    if kind == "bool":
        return True
    if kind == "int" or name in _COUNTS:
        return 1
    return 0.5 if kind == "float" or name in numbers else None


def _tensor(
    name: str, shape: tuple[int, ...], first: tuple[int, ...], generator: torch.Generator, positive: bool
) -> torch.Tensor:
    if name.lower() in _INDICES:
        return torch.randint(0, 3, first[:1], generator=generator)
    return _drawn(shape, generator, positive)


def _drawn(shape: tuple[int, ...], generator: torch.Generator, positive: bool) -> torch.Tensor:
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn.abs() + 0.5 if positive else drawn


def _listed(names: Sequence[str], values: Sequence[Any]) -> str:
    return ", ".join(f"{name} {_worded(value)}" for name, value in zip(names, values, strict=False))


def _worded(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return str(value)
    kind = " of integers" if not value.is_floating_point() else ""
    return f"{list(value.shape)}{kind}"
