"""What a model may be called with, given sizes or the inputs themselves: the likeliest first."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from torch_debugger.anatomy.counting.twins import without_values
from torch_debugger.anatomy.graph_calls import Call, calls_for
from torch_debugger.anatomy.nested import exchanged
from torch_debugger.anatomy.summing.seen import dtype_name
from torch_debugger.errors import UsageError

Size = tuple[int, ...]
Sizes = dict[str, Size] | list[Size]
_CPU = torch.device("cpu")
_MOST_VALUES = 2**20
_MOST_KINDS = 8  # combinations of float and long inputs that are tried


@dataclass(frozen=True)
class Blank:
    """A tensor that is made when it is needed."""

    size: Size
    dtype: torch.dtype

    def without_memory(self) -> torch.Tensor:
        """Whole numbers have values here too, since forward may ask for them: is any token masked?"""
        valueless = self.dtype.is_floating_point or self.dtype.is_complex or math.prod(self.size) > _MOST_VALUES
        return torch.empty(self.size, dtype=self.dtype, device="meta") if valueless else self.made(_CPU)

    def made(self, device: torch.device) -> torch.Tensor:
        if self.dtype.is_floating_point or self.dtype.is_complex:
            return torch.rand(self.size, dtype=self.dtype, device=device)
        return torch.zeros(self.size, dtype=self.dtype, device=device)  # an index that always exists


class Attempt(NamedTuple):
    call: Call
    note: str = ""  # what of it was a guess
    batched: bool = False  # a batch dimension was put in front of the sizes given

    def made(self, device: torch.device | None, on_shapes: bool) -> Call:
        """On this device; tensors that were given are copied."""

        def own(value: Any) -> torch.Tensor:
            if on_shapes:
                return without_values(value.without_memory() if isinstance(value, Blank) else value)
            if isinstance(value, Blank):
                return value.made(device or _CPU)
            own_copy: torch.Tensor = value.detach().clone()
            return own_copy.requires_grad_(value.requires_grad)

        kinds = (Blank, torch.Tensor)
        return Call(exchanged(self.call.arguments, own, kinds), exchanged(self.call.keywords, own, kinds))


def attempts_for_data(model: nn.Module, data: Any, keywords: dict[str, Any]) -> list[Attempt]:
    """A dictionary is keywords, a list or tuple positional arguments, all else one argument."""
    ways = calls_for(model, tuple(data) if isinstance(data, list) else data)
    return [Attempt(Call(call.arguments, call.keywords | keywords)) for call in ways]


def attempts_for_sizes(
    model: nn.Module,
    sizes: Sizes,
    dtypes: Sequence[torch.dtype] | None,
    batch_dim: int | None,
    batch_size: int | None,
    keywords: dict[str, Any],
) -> list[Attempt]:
    """As they are (torchinfo's form), then without a batch dimension (torchsummary's); floats, then indices."""
    batch = batch_size if batch_size is not None and batch_size > 0 else 1
    forms: list[tuple[Sizes, bool]] = []
    if batch_dim is not None:
        forms.append((_each(sizes, lambda size: _inserted(size, batch_dim)), False))
    else:
        if batch_size is None:
            forms.append((sizes, False))
        forms.append((_each(sizes, lambda size: (batch, *size)), True))
    return [
        Attempt(
            _call(form, kinds, keywords), _note(form, kinds, batched, batch, guessed=dtypes is None), batched
        )
        for (form, batched), kinds in itertools.product(forms, _kinds(model, len(sizes), dtypes))
    ]


def read_sizes(input_size: Any) -> Sizes:
    """(1, 3, 32, 32), [1, 3, 32, 32], several of them in a list or tuple, or by name in a dictionary."""
    try:
        if isinstance(input_size, dict):
            return {str(name): _size(size) for name, size in input_size.items()}
        if isinstance(input_size, (list, tuple)) and any(isinstance(one, (list, tuple)) for one in input_size):
            return [_size(size) for size in input_size]
        return [_size(input_size)]
    except (TypeError, ValueError):
        raise UsageError(
            f"input_size={input_size!r} is no size: it is a tuple of positive whole numbers such as "
            "(1, 3, 224, 224), or a list of such tuples for several inputs."
        ) from None


def _size(size: Any) -> Size:
    lengths = tuple(operator.index(length) for length in (size if hasattr(size, "__iter__") else (size,)))
    if any(length < 1 for length in lengths):
        raise ValueError
    return lengths


def _each(sizes: Sizes, change: Any) -> Sizes:
    if isinstance(sizes, dict):
        return {name: change(size) for name, size in sizes.items()}
    return [change(size) for size in sizes]


def _inserted(size: Size, place: int) -> Size:
    place = place if place >= 0 else len(size) + 1 + place
    return (*size[:place], 1, *size[place:])


def _kinds(model: nn.Module, count: int, dtypes: Sequence[torch.dtype] | None) -> list[tuple[torch.dtype, ...]]:
    if dtypes is not None:
        if len(dtypes) not in (1, count):
            raise UsageError(f"dtypes has {len(dtypes)} entries for {count} inputs: it takes one for each.")
        return [tuple(dtypes) if len(dtypes) == count else (dtypes[0],) * count]
    own = (value.dtype for value in model.parameters() if value.dtype.is_floating_point)
    floats = next(own, torch.get_default_dtype())
    return list(itertools.islice(itertools.product((floats, torch.long), repeat=count), _MOST_KINDS))


def _call(sizes: Sizes, kinds: tuple[torch.dtype, ...], keywords: dict[str, Any]) -> Call:
    if isinstance(sizes, dict):
        blanks = {name: Blank(size, kind) for (name, size), kind in zip(sizes.items(), kinds, strict=True)}
        return Call((), blanks | keywords)
    return Call(tuple(Blank(size, kind) for size, kind in zip(sizes, kinds, strict=True)), keywords)


def _note(sizes: Sizes, kinds: tuple[torch.dtype, ...], batched: bool, batch: int, guessed: bool) -> str:
    parts = []
    if batched:
        parts.append(f"input_size was taken without the batch dimension: one of {batch} was put in front.")
    if guessed and torch.long in kinds:
        words = ", ".join(dtype_name(kind) for kind in kinds)
        parts.append(f"dtypes was not given: the model takes {words}.")
    return " ".join(parts)
