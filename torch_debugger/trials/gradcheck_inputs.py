"""From what the caller gave to what is checked: copies, in float64, the caller's own untouched."""

from __future__ import annotations

import copy
import inspect
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.system.errors import UsageError
from torch_debugger.trials.gradcheck_differences import FunctionSubject

_WIDE = {torch.float16: torch.float64, torch.bfloat16: torch.float64, torch.float32: torch.float64,
         torch.complex64: torch.complex128}  # fmt: skip

Target = Callable[..., Any]


def prepare(target: Target, inputs: Any, *, widen: bool) -> FunctionSubject:
    """A subject made of copies; with `widen`, of float64 copies."""
    passed = _as_tuple(inputs)
    names = input_names(target, len(passed))
    marked = [place for place, value in enumerate(passed) if _could_be_checked(value) and value.requires_grad]
    able = [place for place, value in enumerate(passed) if _could_be_checked(value)]
    checked = {place: names[place] for place in marked or able}
    unmarked = [] if marked else list(checked.values())
    arguments = [_copied(value, widen) for value in passed]
    call = target
    if isinstance(target, nn.Module):
        call, parameters = _module_as_function(target, len(arguments), widen)
        for word, parameter in parameters.items():
            if parameter.requires_grad:
                checked[len(arguments)] = word
            arguments.append(_copied(parameter, widen))
    if not checked:
        raise UsageError(
            f"There is nothing to check: `{name_of(target)}` got no floating-point tensor and has no parameter that "
            "requires a gradient."
        )
    for place in checked:
        arguments[place] = arguments[place].requires_grad_()
    return FunctionSubject(name_of(target), call, arguments, checked, unmarked)


def narrow_dtypes(target: Target, inputs: Any) -> list[str]:
    """The dtypes among inputs and parameters that `widen` would change: float32."""
    tensors = [*_as_tuple(inputs), *(target.parameters() if isinstance(target, nn.Module) else ())]
    found = {str(tensor.dtype) for tensor in tensors if isinstance(tensor, torch.Tensor) and tensor.dtype in _WIDE}
    return sorted(name.removeprefix("torch.") for name in found)


def name_of(target: Target) -> str:
    """As the user would write it: Cube.apply, my_function, Linear."""
    if isinstance(target, nn.Module):
        return type(target).__name__
    owner = getattr(target, "__self__", None)
    if isinstance(owner, type):
        return f"{owner.__name__}.{getattr(target, '__name__', 'apply')}"
    name = getattr(target, "__name__", type(target).__name__)
    return "your function" if name == "<lambda>" else str(name)


def input_names(target: Target, count: int) -> list[str]:
    """The parameters' names where there is a signature, else: input 0."""
    fallback = [f"input {place}" for place in range(count)]
    try:
        parameters = list(inspect.signature(signature_of(target)).parameters.values())
    except (TypeError, ValueError):  # built-in functions have none
        return fallback
    owner = getattr(target, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function) and takes_context(owner):
        parameters = parameters[1:]
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    words = [parameter.name for parameter in parameters if parameter.kind in kinds]
    return [words[place] if place < len(words) else fallback[place] for place in range(count)]


def signature_of(target: Target) -> Callable[..., Any]:
    """The function whose parameters the inputs are: a Function's or a module's forward."""
    if isinstance(target, nn.Module):
        return target.forward
    owner = getattr(target, "__self__", None)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        forward: Callable[..., Any] = owner.forward
        return forward
    return target


def takes_context(function: type[torch.autograd.Function]) -> bool:
    """Whether forward's first parameter is `ctx`: not where setup_context is written apart."""
    return function.setup_context is torch.autograd.Function.setup_context


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


def _could_be_checked(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or not (value.is_floating_point() or value.is_complex()):
        return False
    if value.layout is not torch.strided:
        raise UsageError(f"A {str(value.layout).removeprefix('torch.')} tensor cannot be checked; make it dense.")
    return value.numel() > 0


def _copied(value: Any, widen: bool) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    copied = value.detach().clone()
    return copied.to(_WIDE.get(copied.dtype, copied.dtype)) if widen else copied


def _module_as_function(module: nn.Module, inputs: int, widen: bool) -> tuple[Target, dict[str, torch.Tensor]]:
    """The module as a function of its inputs and then its parameters."""
    own = copy.deepcopy(module)
    for parameter in own.parameters():
        parameter.grad = None
    if widen:
        own = own.double()
    parameters = dict(own.named_parameters())
    buffers = {name: _copied(buffer, widen) for name, buffer in own.named_buffers()}

    def call(*arguments: Any) -> Any:
        values: Sequence[Any] = arguments[inputs:]
        state = dict(zip(parameters, values, strict=True))
        state |= {name: buffer.clone() for name, buffer in buffers.items()}
        return torch.func.functional_call(own, state, tuple(arguments[:inputs]))

    return call, dict(parameters)


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
class GuessedInputs:
    inputs: tuple[Any, ...]
    words: str  # x [4, 5], weight [3, 5], eps 0.5


def guesses(function: type[torch.autograd.Function]) -> Iterator[GuessedInputs]:
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


def inputs_from(function: type[torch.autograd.Function], passed: Sequence[Any]) -> GuessedInputs:
    """A tuple is the shape of a tensor; all else is passed as it is."""
    generator = torch.Generator().manual_seed(_SEED)
    values = [_drawn(each, generator, positive=False) if isinstance(each, tuple) else each for each in passed]
    names = [parameter.name for parameter in required_parameters(function)]
    names += [f"input {place}" for place in range(len(names), len(values))]
    return GuessedInputs(tuple(values), _listed(names, values))


def _guess(
    parameters: list[inspect.Parameter], plan: Sequence[tuple[int, ...]], positive: bool, numbers: Sequence[str]
) -> GuessedInputs:
    generator = torch.Generator().manual_seed(_SEED)
    values: list[Any] = []
    shapes = itertools.chain(plan, itertools.repeat(plan[-1]))
    for parameter in parameters:
        kind = getattr(parameter.annotation, "__name__", str(parameter.annotation))
        name = parameter.name.lower()
        if kind == "bool":
            values.append(True)
        elif kind == "int" or name in _COUNTS:
            values.append(1)
        elif kind == "float" or name in numbers:
            values.append(0.5)
        else:
            shape = next(shapes)
            whole = torch.randint(0, 3, plan[0][:1], generator=generator) if name in _INDICES else None
            values.append(_drawn(shape, generator, positive) if whole is None else whole)
    return GuessedInputs(tuple(values), _listed([parameter.name for parameter in parameters], values))


def _drawn(shape: tuple[int, ...], generator: torch.Generator, positive: bool) -> torch.Tensor:
    drawn = torch.randn(shape, generator=generator, dtype=torch.float64)
    return drawn.abs() + 0.5 if positive else drawn


def _listed(names: Sequence[str], values: Sequence[Any]) -> str:
    parts = []
    for name, value in zip(names, values, strict=False):
        if isinstance(value, torch.Tensor):
            value = f"{list(value.shape)}{'' if value.is_floating_point() else ' of integers'}"
        parts.append(f"{name} {value}")
    return ", ".join(parts)
