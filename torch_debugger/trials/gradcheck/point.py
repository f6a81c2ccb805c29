"""A subject at one point: its values beside it, and the gradient that autograd gives there."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import torch

from torch_debugger.trials.gradcheck.rows import Slot, from_row, lay_out, to_row
from torch_debugger.trials.gradcheck.subject import Subject, Tensors


class UnevenOutputsError(Exception):
    """The outputs have other shapes beside the point than at it."""


class BackwardError(Exception):
    """The user's backward raised; the cause is attached."""


class Point:
    """Rows in, rows out; the graph of one forward at the point is kept for all gradients."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        given, found = subject.run(None)
        self.given = given
        self.all_outputs = found
        numbers = [number for number, made in enumerate(found) if made.is_floating_point() or made.is_complex()]
        attached = [number for number in numbers if found[number].requires_grad]
        self.detached = not attached
        self.chosen = attached or numbers
        self.left_out = [number for number in numbers if number not in self.chosen]
        self.outputs: Tensors = [found[number] for number in self.chosen]
        self.x: tuple[Slot, ...] = lay_out(subject.leaf_names, subject.leaves)
        words = subject.output_names or _words(len(found))
        names = [words[number] for number in self.chosen]
        self.y: tuple[Slot, ...] = lay_out(names, self.outputs)
        self.at_point = to_row(self.outputs, self.y) if self.y else torch.zeros(0, dtype=torch.float64)
        self.inputs = to_row(subject.leaves, self.x)
        self.wrote_into_incoming = False

    @functools.cached_property
    def precision(self) -> float:
        """The relative rounding of the coarsest dtype in sight: 2.2e-16 for float64."""
        kinds = {slot.dtype for slot in (*self.x, *self.y)}
        return max(torch.finfo(kind).eps for kind in kinds)

    def values(self, shift: torch.Tensor) -> torch.Tensor:
        """The outputs at the point plus `shift`."""
        _, found = self.subject.run(from_row(shift, self.x))
        outputs = [found[number] for number in self.chosen if number < len(found)]
        if [tuple(output.shape) for output in outputs] != [slot.shape for slot in self.y]:
            raise UnevenOutputsError
        return to_row(outputs, self.y)

    def pull(self, weights: torch.Tensor) -> torch.Tensor:
        """What backward makes of this output gradient, as one row."""
        return to_row(self.pulled(weights), self.x)

    def pulled(self, weights: torch.Tensor, only: Sequence[int] | None = None) -> list[torch.Tensor | None]:
        """The same, a gradient per leaf; None where none arrived. `only` some outputs take part at all."""
        if self.detached:
            return [None for _ in self.x]
        taking = range(len(self.outputs)) if only is None else only
        gradients = from_row(weights, self.y)
        # Copies: a backward may write into the gradient it is given.
        copies = [gradients[number].clone() for number in taking]
        try:
            pulled = torch.autograd.grad(
                [self.outputs[number] for number in taking],
                self.subject.leaves,
                copies,
                retain_graph=True,
                allow_unused=True,
            )
        except Exception as error:  # the user's backward may raise anything
            raise BackwardError from error
        kept = zip(copies, (gradients[number] for number in taking), strict=True)
        self.wrote_into_incoming |= not all(torch.equal(copy, given) for copy, given in kept)
        return list(pulled)


def _words(count: int) -> list[str]:
    return ["output"] if count == 1 else [f"output {number}" for number in range(count)]
