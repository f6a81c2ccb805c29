"""`gradgradcheck`: can the gradients be differentiated again, and rightly?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.anatomy.randomness import randomness_kept
from torch_debugger.trials.gradcheck.comparing import Tolerance
from torch_debugger.trials.gradcheck.examining import Examination
from torch_debugger.trials.gradcheck.first_order import WrongGradientError, ready
from torch_debugger.trials.gradcheck.point import Point
from torch_debugger.trials.gradcheck.preparing import Target, input_names, name_of
from torch_debugger.trials.gradcheck.raised import backward_raised, not_twice
from torch_debugger.trials.gradcheck.result import GradcheckResult, Problem
from torch_debugger.trials.gradcheck.subject import Subject, Tensors

_SEED = 40_009


def gradgradcheck(
    fn_or_module: Target,
    inputs: Any,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float = 1e-3,
    raise_exception: bool = False,
) -> GradcheckResult:
    """The same comparison as `gradcheck`, of the gradients' own gradients.

    Needed where a gradient is part of a loss (gradient penalties, meta-learning). The function's first
    gradients, for random incoming ones, are the outputs here; inputs, parameters and the incoming gradients
    (`grad_output`) are what they are differentiated by. Whether the first gradients are right is
    `gradcheck`'s question.

    >>> assert torch_debugger.gradgradcheck(torch.tanh, torch.randn(4, requires_grad=True))
    """
    with randomness_kept(), torch.inference_mode(False), torch.enable_grad():
        result = _checked(fn_or_module, inputs, Tolerance(eps, atol, rtol))
    if raise_exception and not result:
        raise WrongGradientError(result)
    return result if raise_exception else shown_where_bare(result)


def _checked(target: Target, inputs: Any, tolerance: Tolerance) -> GradcheckResult:
    found = ready(target, inputs)
    if isinstance(found, GradcheckResult):
        return found
    first, notes = found
    count = len(inputs) if isinstance(inputs, (tuple, list)) else 1
    names = input_names(target, count)
    if Point(first).detached:
        return GradcheckResult(name_of(target), True, problems=(_no_graph(),), notes=tuple(notes))
    try:
        subject = FirstGradients(first)
        cut_off = Point(subject).detached or subject.is_cut_off()
    except Exception as error:  # the user's backward may raise anything, and it is told
        problem = backward_raised(error.__cause__ or error, names)
        return GradcheckResult(name_of(target), True, problems=(problem,), notes=tuple(notes))
    if cut_off:
        return GradcheckResult(name_of(target), True, problems=(not_twice(),), notes=tuple(notes))
    return Examination(subject, names, notes, second_order=True).carry_out(tolerance)


class FirstGradients:
    """A subject whose outputs are another's gradients."""

    def __init__(self, first: Subject) -> None:
        self._first = first
        self._count = len(first.leaves)
        point = Point(first)
        self._chosen = point.chosen
        generator = torch.Generator().manual_seed(_SEED)
        incoming = [_normal_like(output, generator) for output in point.outputs]
        single = len(incoming) == 1
        words = ["grad_output" if single else f"grad_output {number}" for number in range(len(incoming))]
        self.name = first.name
        self.leaf_names = [*first.leaf_names, *words]
        self.leaves: Tensors = [*first.leaves, *incoming]
        self.unmarked: list[str] = []
        reached = point.pulled(torch.ones_like(point.at_point))
        self._reached = [number for number, gradient in enumerate(reached) if gradient is not None]
        self.output_names = [f"gradient of {first.leaf_names[number]}" for number in self._reached]

    def leave_out(self, name: str) -> None:
        raise NotImplementedError("first gradients have no unmarked leaves")

    def is_cut_off(self) -> bool:
        """A gradient is linear in the incoming one; if that has no influence, the graph ends in backward."""
        point = Point(self)
        arrived = point.pulled(torch.ones_like(point.at_point))
        return all(gradient is None for gradient in arrived[self._count :])

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        count = self._count
        given, found = self._first.run(None if shifts is None else shifts[:count])
        own = self.leaves[count:]
        incoming = [leaf.clone() for leaf in own] if shifts is None else [
            leaf + shift for leaf, shift in zip(own, shifts[count:], strict=True)
        ]  # fmt: skip
        outputs = [found[number] for number in self._chosen]
        gradients = torch.autograd.grad(
            outputs, self._first.leaves, incoming, create_graph=True, allow_unused=True
        )
        return [*given, *incoming], [gradients[number] for number in self._reached]


def _no_graph() -> Problem:
    return Problem(
        "no-graph",
        "no output requires a gradient, so there is no first gradient to differentiate.",
        "Look for `.detach()`, `.data`, `.item()` or `torch.no_grad()` on the way from the inputs to the "
        "output.",
    )


def _normal_like(output: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    drawn = torch.randn(output.shape, generator=generator, dtype=output.dtype)
    return drawn.to(output.device).requires_grad_()
