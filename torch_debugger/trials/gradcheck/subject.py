"""What is checked: a function of some leaves, run at a point or beside it, as often as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch

from torch_debugger.anatomy.nested import tensors_in

Tensors = list[torch.Tensor]


class Subject(Protocol):
    """Its leaves are copies of the caller's tensors, each requiring a gradient."""

    name: str
    leaf_names: list[str]
    leaves: Tensors
    output_names: list[str]  # where outputs have names of their own: "gradient of x"
    unmarked: list[str]  # inputs among the leaves that are there because no input required a gradient

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        """The tensors that went in (leaves plus shifts, none a leaf itself) and all that came out."""

    def leave_out(self, name: str) -> None:
        """This leaf is not to be checked."""


class FunctionSubject:
    """A function of tensors and of other things, which are passed as they are."""

    def __init__(
        self,
        name: str,
        call: Callable[..., Any],
        arguments: Sequence[Any],
        checked: dict[int, str],  # place among the arguments -> name
        unmarked: Sequence[str] = (),
    ) -> None:
        self.name = name
        self.leaf_names = list(checked.values())
        self.leaves: Tensors = [arguments[place] for place in checked]
        self.output_names: list[str] = []
        self.unmarked = list(unmarked)
        self._call = call
        self._arguments = arguments
        self._places = list(checked)

    def leave_out(self, name: str) -> None:
        number = self.leaf_names.index(name)
        del self.leaf_names[number], self._places[number]
        self.leaves.pop(number).requires_grad_(False)

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        given = self._moved(shifts)
        arguments = list(self._arguments)
        for place, tensor in zip(self._places, given, strict=True):
            arguments[place] = tensor
        fixed = [place for place, value in enumerate(arguments) if isinstance(value, torch.Tensor)]
        for place in set(fixed).difference(self._places):
            arguments[place] = arguments[place].clone()  # what is written into it must not reach the next call
        return given, list(tensors_in(self._call(*arguments)))

    def _moved(self, shifts: Sequence[torch.Tensor] | None) -> Tensors:
        # Clones and sums, not the leaves themselves: autograd forbids in-place operations on leaves.
        if shifts is None:
            return [leaf.clone() for leaf in self.leaves]
        return [leaf + shift for leaf, shift in zip(self.leaves, shifts, strict=True)]
