"""The comparison itself: eight random directions, of which a wrong gradient cannot hide from one.

Along u, weighted by v, the function changes by v . J u; backward claims (J^T v) . u. Rounding lets the two
differ by about precision * |v f| / h; anything beyond that is measured once more with care.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from torch_debugger.model.nested_tensors import tensors_in

_DIRECTIONS = 8
_SEED = 20_011
_TRUSTED = 1e-3  # relative error of differences that still tell a wrong gradient from a right one
_ROUNDINGS = 100  # a sum of many terms is rounded many times


@dataclass(frozen=True)
class Suspicion:
    """A direction along which the two disagree."""

    direction: torch.Tensor
    weights: torch.Tensor
    off_by: float  # relative to the size of the derivative
    trusted: bool  # the differences are known well enough to blame the gradient


class Directions:
    """Draws from a generator of its own: the caller's random numbers are left alone."""

    def __init__(self, point: GradcheckPoint, steps: DifferenceSteps) -> None:
        self._point = point
        self._steps = steps
        self._generator = torch.Generator().manual_seed(_SEED)
        self.close_to = 0.0  # the largest relative difference among those that agree

    def suspicions(self) -> Iterator[Suspicion]:
        for _ in range(_DIRECTIONS):
            direction = self._drawn(self._point.inputs) * self._steps.scales
            suspicion = self._compare(direction, self._drawn(self._point.at_point))
            if suspicion is not None:
                yield suspicion

    def _drawn(self, like: torch.Tensor) -> torch.Tensor:
        """Of either sign and between 0.5 and 1 in size: no element is passed over in any direction."""
        drawn = torch.rand(like.shape, generator=self._generator, dtype=torch.float64) - 0.5
        return drawn.add_(drawn.sign(), alpha=0.5).to(like.device)

    def _compare(self, direction: torch.Tensor, weights: torch.Tensor) -> Suspicion | None:
        point, step = self._point, self._steps.usual
        numerical = float(weights @ central_difference(point, direction, step))
        gradient = point.pull(weights) * direction
        analytical = float(gradient.sum())
        scale = float(torch.linalg.vector_norm(gradient)) + abs(numerical)
        noise = float(torch.linalg.vector_norm(weights * point.at_point))
        allowed = fineness(point) * scale + _ROUNDINGS * point.precision * noise / step
        blunt = 0 < _TRUSTED * scale < allowed  # as with a small change of a large number
        if abs(analytical - numerical) <= allowed and not blunt:
            self.close_to = max(self.close_to, abs(analytical - numerical) / scale if scale else 0.0)
            return None
        numerical, error = careful_slope(point, direction, weights, step)
        difference = abs(analytical - numerical)
        trusted = error <= _TRUSTED * scale
        if trusted and difference <= 3 * error + fineness(point) * scale:
            self.close_to = max(self.close_to, difference / scale)
            return None
        off_by = difference / scale if math.isfinite(difference) else math.inf
        return Suspicion(direction, weights, off_by, trusted)


def fineness(point: GradcheckPoint) -> float:
    """How closely two ways to the same derivative agree at best: 1.5e-7 in float64."""
    return 10 * math.sqrt(point.precision)


# Derivatives by differences: central differences, and a careful form that knows its own error.
#
# A central difference of step h is wrong by about precision * |f| / h from rounding and by h^2 * f''' / 6 from
# curvature; h = precision ** (1/3) balances the two. The careful form (Ridders' method) extrapolates central
# differences of many steps to h = 0 and takes the entry of the table that changed least.
_RUNGS = 13
_HALVINGS_ABOVE = 9  # the ladder starts this many doublings above the usual step


class DifferenceSteps:
    """How far to go along each input: relative to the size of its tensor, within reason."""

    def __init__(self, point: GradcheckPoint, eps: float | None) -> None:
        self.usual = eps if eps is not None else point.precision ** (1 / 3)
        self.scales = torch.ones_like(point.inputs)
        for slot in point.x if eps is None else ():
            size = point.inputs[slot.start : slot.stop].square().mean().sqrt()
            self.scales[slot.start : slot.stop] = float(size.clamp(0.1, 1e4)) if size > 0 else 1.0


def central_difference(point: GradcheckPoint, direction: torch.Tensor, step: float) -> torch.Tensor:
    """(f(x + h u) - f(x - h u)) / 2h, for all outputs."""
    shift = direction * step
    return (point.values(shift) - point.values(-shift)) / (2 * step)


def careful_slope(
    point: GradcheckPoint, direction: torch.Tensor, weights: torch.Tensor, usual: float
) -> tuple[float, float]:
    """The derivative of weights . f along a direction, and how far off it may be."""
    noise = 4 * point.precision * float(torch.linalg.vector_norm(weights * point.at_point))

    def extrapolated(longest: float) -> tuple[float, float]:
        best, least = math.nan, math.inf
        before: list[float] = []
        for rung in range(_RUNGS):
            step = longest / 2.0**rung
            row = [float(weights @ central_difference(point, direction, step))]
            for order, older in enumerate(before):
                row.append(row[order] + (row[order] - older) / (4.0 ** (order + 1) - 1))
                doubt = max(abs(row[-1] - row[-2]), abs(row[-1] - older)) + noise / step
                if doubt < least:
                    best, least = row[-1], doubt
            before = row if math.isfinite(row[0]) else []
        return best, least

    # Three times, with other steps: a function that rounds coarsely inside may seem steady once by chance.
    longest = usual * 2.0**_HALVINGS_ABOVE
    values, errors = zip(*(extrapolated(share * longest) for share in (1.0, 0.83, 0.64)), strict=True)
    return values[0], max(*errors, 3 * (max(values) - min(values)))


def is_staircase(point: GradcheckPoint, direction: torch.Tensor, usual: float) -> bool:
    """Whether outputs stand still for small shifts and move for larger ones: half precision inside."""
    small, large = (point.values(direction * usual * share) != point.at_point for share in (1 / 64, 512))
    moved = int(large.sum())
    return moved > len(large) // 2 and int((small & large).sum()) < moved // 10 + 1


def is_kink(point: GradcheckPoint, direction: torch.Tensor, weights: torch.Tensor, usual: float) -> bool:
    """Whether the slope left of the point differs from the one right of it.

    The second difference over h goes to 0 with h where the function is smooth, and stays where it bends.
    """
    centre = float(weights @ point.at_point)
    noise = 64 * point.precision * float(torch.linalg.vector_norm(weights * point.at_point))

    def bend(step: float) -> tuple[float, float]:
        right, left = (float(weights @ point.values(direction * by)) for by in (step, -step))
        return abs(right + left - 2 * centre) / step, abs(right - left) / (2 * step)

    for step in (usual * 16, usual):
        wide, slope = bend(step)
        narrow, _ = bend(step / 2)
        if not math.isfinite(wide + narrow):
            return True
        if narrow > 0.75 * wide and narrow > 1e-2 * slope + noise / step:
            return True
    return False


class UnevenOutputsError(Exception):
    """The outputs have other shapes beside the point than at it."""


class BackwardError(Exception):
    """The user's backward raised; the cause is attached."""


class GradcheckPoint:
    """Rows in, rows out; the graph of one forward at the point is kept for all gradients."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        inputs, found = subject.run(None)
        self.given = inputs
        numbers = [number for number, made in enumerate(found) if made.is_floating_point() or made.is_complex()]
        attached = [number for number in numbers if found[number].requires_grad]
        self.detached = not attached
        self.chosen = attached or numbers
        self.left_out = [number for number in numbers if number not in self.chosen]
        self.outputs: Tensors = [found[number] for number in self.chosen]
        self.x: tuple[Slot, ...] = lay_out(subject.leaf_names, subject.leaves)
        words = ["output"] if len(found) == 1 else [f"output {number}" for number in range(len(found))]
        words = subject.output_names or words
        self.y: tuple[Slot, ...] = lay_out([words[number] for number in self.chosen], self.outputs)
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
        self.wrote_into_incoming |= not all(torch.equal(copy, original) for copy, original in kept)
        return list(pulled)


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
        inputs = shifted(self.leaves, shifts)
        arguments = list(self._arguments)
        for place, tensor in zip(self._places, inputs, strict=True):
            arguments[place] = tensor
        fixed = [place for place, value in enumerate(arguments) if isinstance(value, torch.Tensor)]
        for place in set(fixed).difference(self._places):
            arguments[place] = arguments[place].clone()  # what is written into it must not reach the next call
        return inputs, list(tensors_in(self._call(*arguments)))


def shifted(leaves: Tensors, shifts: Sequence[torch.Tensor] | None) -> Tensors:
    """Clones and sums, not the leaves themselves: autograd forbids in-place operations on leaves."""
    if shifts is None:
        return [leaf.clone() for leaf in leaves]
    return [leaf + shift for leaf, shift in zip(leaves, shifts, strict=True)]


@dataclass(frozen=True)
class Slot:
    """One tensor's stretch of the row."""

    name: str  # as messages say it: `x`, `weight`, output 0
    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    start: int
    stop: int

    @property
    def complex(self) -> bool:
        return self.dtype.is_complex

    def element(self, place: int) -> tuple[int, ...]:
        """The index of the element at a place of the row."""
        offset = (place - self.start) // (2 if self.complex else 1)
        index = []
        for size in reversed(self.shape):
            index.append(offset % size)
            offset //= size
        return tuple(reversed(index))

    def spelled(self, place: int) -> str:
        """`x[2, 3]`, or its imaginary part."""
        index = self.element(place)
        word = f"{self.name}[{', '.join(map(str, index))}]" if index else self.name
        if not self.complex:
            return word
        return f"{word}.imag" if (place - self.start) % 2 else f"{word}.real"


def lay_out(names: Sequence[str], tensors: Sequence[torch.Tensor]) -> tuple[Slot, ...]:
    slots, start = [], 0
    for name, tensor in zip(names, tensors, strict=True):
        stop = start + tensor.numel() * (2 if tensor.is_complex() else 1)
        slots.append(Slot(name, tuple(tensor.shape), tensor.dtype, tensor.device, start, stop))
        start = stop
    return tuple(slots)


def to_row(tensors: Sequence[torch.Tensor | None], slots: Sequence[Slot]) -> torch.Tensor:
    """In float64, on the first tensor's device; zeros stand for a tensor that is not there."""
    home = slots[0].device
    parts = []
    for tensor, slot in zip(tensors, slots, strict=True):
        if tensor is None:
            parts.append(torch.zeros(slot.stop - slot.start, dtype=torch.float64, device=home))
            continue
        data = tensor.detach()
        real = torch.view_as_real(data.resolve_conj()) if data.is_complex() else data
        parts.append(real.reshape(-1).to(home, torch.float64))
    return parts[0].clone() if len(parts) == 1 else torch.cat(parts)


def from_row(row: torch.Tensor, slots: Sequence[Slot]) -> list[torch.Tensor]:
    """The tensors again, in their own dtypes; each has memory of its own where that is cheap to give."""
    found = []
    for slot in slots:
        part = row[slot.start : slot.stop]
        if slot.complex:
            part = torch.view_as_complex(part.reshape(*slot.shape, 2).contiguous())
        found.append(part.reshape(slot.shape).to(slot.device, slot.dtype))
    return found


def slot_at(slots: Sequence[Slot], place: int) -> Slot:
    return next(slot for slot in slots if slot.start <= place < slot.stop)
