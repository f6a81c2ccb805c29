"""Which mistake a wrong gradient looks like, and what to change."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch

from torch_debugger.trials.gradcheck_differences import (
    DifferenceSteps,
    GradcheckPoint,
    Slot,
    Suspicion,
    careful_slope,
    central_difference,
    fineness,
)
from torch_debugger.trials.gradcheck_result import Pattern


def recognise(sample: Sample) -> Pattern:
    for look in _LOOKS:
        pattern = look(sample)
        if pattern is not None:
            return pattern
    who = sample.culprit.leaf.name
    return Pattern(
        "unknown",
        "no common mistake was recognised.",
        f"Derive the gradient of `{who}` on paper for one element, and compare it with `backward` line by line.",
    )


def _detached(sample: Sample) -> Pattern | None:
    culprit = sample.culprit
    number = sample.point.x.index(culprit.leaf)
    if sample.point.pulled(culprit.weights)[number] is not None:
        return None
    who = culprit.leaf.name
    if culprit.output.name.startswith("gradient of"):
        advice = f"In `backward`, use `{who}` as it was saved, without `.detach()`, `.data` or `.item()`."
    else:
        advice = (
            "Look for `.detach()`, `.data`, `.item()`, `torch.no_grad()` or a new `torch.tensor(...)` between "
            f"`{who}` and the {culprit.output.name}. A custom `backward` must return its gradient, not None."
        )
    return Pattern(
        "detached",
        f"detached: no gradient arrives at `{who}`, although the {culprit.output.name} depends on it.",
        advice,
    )


def _not_finite(sample: Sample) -> Pattern | None:
    if bool(torch.isfinite(sample.analytical).all()):
        return None
    return Pattern(
        "not-finite",
        f"backward gives NaN or Inf for `{sample.culprit.leaf.name}`; the function itself is finite there.",
        "Look for a division by 0, a log or a root at 0 in `backward`.",
    )


def _constant_forward(sample: Sample) -> Pattern | None:
    if bool((sample.numerical.abs() > sample.tolerance * sample.analytical.abs().max()).any()):
        return None
    return Pattern(
        "straight-through",
        f"the {sample.culprit.output.name} does not change with `{sample.culprit.leaf.name}` around here (as with "
        "rounding, sign or a threshold), but backward gives a gradient.",
        "A straight-through or surrogate gradient is like this on purpose; then there is nothing to change. "
        "Otherwise return zeros, or make the forward depend on it.",
        deliberate=True,
    )


def _zero(sample: Sample) -> Pattern | None:
    if bool(sample.analytical.any()):
        return None
    who = sample.culprit.leaf.name
    return Pattern(
        "zero-gradient",
        f"backward gives zeros for `{who}`, although the {sample.culprit.output.name} depends on it.",
        f"Compute the gradient of `{who}` in `backward`; zeros are right only where the output does not change.",
    )


def _identity(sample: Sample) -> Pattern | None:
    """Forward hands its input on: whoever writes that, writes it for the sake of the backward."""
    culprit = sample.culprit
    inputs = sample.point.inputs[culprit.leaf.start : culprit.leaf.stop]
    outputs = sample.point.at_point[culprit.output.start : culprit.output.stop]
    if culprit.leaf.shape != culprit.output.shape or not torch.equal(inputs, outputs):
        return None
    return Pattern(
        "gradient-changed",
        f"forward returns `{culprit.leaf.name}` as it is, and backward changes the gradient on its way.",
        "Gradient reversal, scaling and clipping layers are like this on purpose; then there is nothing to "
        "change. Otherwise return the incoming gradient as it is.",
        deliberate=True,
    )


def _constant_factor(sample: Sample) -> Pattern | None:
    analytical, numerical, leaf = sample.analytical, sample.numerical, sample.culprit.leaf
    factor = float((analytical @ numerical) / (numerical @ numerical))
    if factor == 0 or not bool(sample.agree(analytical, numerical * factor).all()):
        return None
    if abs(factor + 1) < 1e-3:
        return Pattern(
            "wrong-sign",
            f"wrong sign: backward gives minus the right gradient of `{leaf.name}`, everywhere.",
            f"Change the sign of what `backward` returns for `{leaf.name}`.",
        )
    counts = {leaf.stop - leaf.start: "elements"}
    counts |= {size: f"entries of dimension {number}" for number, size in enumerate(leaf.shape)}
    origins = (
        f"; `{leaf.name}` has {count} {word}, as if forward took a {forward} and backward a {backward}"
        for count, word in counts.items()
        if count >= _TELLING
        for share, forward, backward in ((1 / count, "mean", "sum"), (count, "sum", "mean"))
        if abs(abs(factor) * share - 1) < 1e-3
    )
    return Pattern(
        "missing-factor",
        f"missing factor: backward gives {factor:.6g} times the right gradient of `{leaf.name}`, everywhere"
        f"{next(origins, '')}.",
        f"Multiply what `backward` returns for `{leaf.name}` by {1 / factor:.6g}.",
    )


def _transposed(sample: Sample) -> Pattern | None:
    leaf = sample.culprit.leaf
    if len(leaf.shape) < 2 or leaf.shape[-1] != leaf.shape[-2] or leaf.shape[-1] == 1 or leaf.complex:
        return None
    whole = sample.culprit.gradient.cpu()[leaf.start : leaf.stop].reshape(leaf.shape)
    turned = whole.transpose(-1, -2).reshape(-1)[sample.places - leaf.start]
    if not bool(sample.agree(turned, sample.numerical).all()):
        return None
    return Pattern(
        "transposed",
        f"transposed: backward gives the gradient of `{leaf.name}` with rows and columns exchanged.",
        f"Transpose what `backward` returns for `{leaf.name}`: for y = a @ b, the gradient of a is "
        "`grad_output @ b.t()` and that of b is `a.t() @ grad_output`.",
    )


def _varying_factor(sample: Sample) -> Pattern | None:
    """A tensor that, multiplied to backward's gradient, makes it right at every element."""
    for name, values in _tensors(sample):
        share = _share_of(sample.numerical, sample.analytical * values)
        if share and bool(sample.agree(sample.analytical * values * share, sample.numerical).all()):
            factor = _times(share) + name
            break
        share = _share_of(sample.analytical, sample.numerical * values)
        if share and bool(sample.agree(sample.analytical, sample.numerical * values * share).all()):
            factor = f"{1 / share:.4g} / {name}"
            break
    else:
        return None
    who = sample.culprit.leaf.name
    return Pattern(
        "missing-factor",
        f"missing factor: the right gradient of `{who}` is {factor} times what backward gives.",
        f"Multiply what `backward` returns for `{who}` by {factor}: the chain rule has one more factor.",
    )


def _missing_term(sample: Sample) -> Pattern | None:
    """The incoming gradient, alone or times a tensor, that is exactly what is missing."""
    missing = sample.numerical - sample.analytical
    incoming = _laid_on(sample.culprit.weights, sample.culprit.output, sample)
    if incoming is None or not bool(missing.any()):
        return None
    # The missing part is a difference of two larger numbers: its rounding is theirs.
    floor = sample.tolerance * (missing.abs() + sample.numerical.abs().max() * 0.1)
    for name, values in (("", torch.ones_like(incoming)), *_tensors(sample)):
        share = _share_of(missing, incoming * values)
        added = incoming * values * share
        close = bool(((missing - added).abs() <= floor).all())
        if share and close and float(added.abs().max()) > 10 * float(floor.min()):
            who, term = sample.culprit.leaf.name, f"{_times(share)}`grad_output`" + (f" * {name}" if name else "")
            return Pattern(
                "missing-term",
                f"missing term: the right gradient of `{who}` is what backward gives plus {term}.",
                f"Add {term} to what `backward` returns for `{who}`.",
            )
    return None


def _one_side(sample: Sample) -> Pattern | None:
    values = sample.point.inputs.cpu()[sample.places]
    for word, side in (("negative", values < 0), ("positive", values > 0)):
        if bool(side.any()) and not bool(side.all()) and torch.equal(sample.wrong, side):
            return Pattern(
                "one-side",
                f"backward is wrong exactly where `{sample.culprit.leaf.name}` is {word}.",
                f"Look at the branch or mask of `backward` for {word} values.",
            )
    return None


def _few_elements(sample: Sample) -> Pattern | None:
    wrong = int(sample.wrong.sum())
    if not 0 < wrong <= max(1, len(sample.places) // 4):
        return None
    where = sample.culprit.leaf.spelled(sample.culprit.place)
    others = "all others are right" if sample.whole and wrong == 1 else "most others are right"
    return Pattern(
        "few-elements",
        f"few elements: `{where}` is wrong, {others}.",
        f"Look for what `backward` does to `{where}` alone: an index, a slice, a mask, a border.",
    )


_LOOKS: tuple[Callable[[Sample], Pattern | None], ...] = (
    _detached,
    _not_finite,
    _zero,
    _constant_forward,
    _identity,
    _constant_factor,
    _transposed,
    _one_side,
    _few_elements,
    _varying_factor,
    _missing_term,
)


_TELLING = 5  # smaller sizes are factors of many derivatives anyway: 3 of a cube


def _share_of(wanted: torch.Tensor, part: torch.Tensor) -> float:
    """The number that takes `part` closest to `wanted`."""
    size = float(part @ part)
    return float(wanted @ part) / size if size else 0.0


def _times(share: float) -> str:
    return "" if abs(share - 1) < 1e-3 else "-" if abs(share + 1) < 1e-3 else f"{share:.4g} * "


def _tensors(sample: Sample) -> Iterator[tuple[str, torch.Tensor]]:
    """The inputs and the output, where they have one value for each element of the wrong gradient."""
    point, leaf = sample.point, sample.culprit.leaf
    for slot in (leaf, *(other for other in point.x if other is not leaf)):
        values = _laid_on(point.inputs, slot, sample)
        if values is not None:
            yield f"`{slot.name}`", values
    output = _laid_on(point.at_point, sample.culprit.output, sample)
    if output is not None:
        word = f"the {sample.culprit.output.name}"
        yield word, output
        yield f"(1 - {word})", 1 - output
        yield f"(1 - {word} ** 2)", 1 - output.square()
    own = _laid_on(point.inputs, leaf, sample)
    if own is not None:
        yield f"`{leaf.name}` ** 2", own.square()


def _laid_on(row: torch.Tensor, slot: Slot, sample: Sample) -> torch.Tensor | None:
    leaf = sample.culprit.leaf
    if slot.shape != leaf.shape or slot.complex or leaf.complex:
        return None
    return row.cpu()[slot.start : slot.stop][sample.places - leaf.start]


_ELEMENTS = 64


@dataclass(frozen=True)
class Sample:
    """Elements of one leaf; `analytical` and `numerical` are its gradient for `culprit.weights`."""

    point: GradcheckPoint
    culprit: Culprit
    places: torch.Tensor  # in the row of inputs
    analytical: torch.Tensor
    numerical: torch.Tensor
    tolerance: float

    @property
    def whole(self) -> bool:
        """Whether these are all elements of the leaf."""
        return len(self.places) == self.culprit.leaf.stop - self.culprit.leaf.start

    @property
    def wrong(self) -> torch.Tensor:
        return ~self.agree(self.analytical, self.numerical)

    def agree(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        """Element by element, up to the rounding of differences."""
        size = torch.maximum(one.abs(), other.abs())
        floor = self.numerical.abs().max() * self.tolerance * 0.1
        return (one - other).abs() <= self.tolerance * size + floor


def draw_sample(point: GradcheckPoint, search: Search, culprit: Culprit) -> Sample:
    leaf = culprit.leaf
    count = leaf.stop - leaf.start
    spread = torch.linspace(leaf.start, leaf.stop - 1, min(count, _ELEMENTS), dtype=torch.float64).long()
    places = torch.tensor(sorted({*spread.tolist(), culprit.place}))
    slopes = [float(culprit.weights @ search.column(int(place))) for place in places]
    numerical = torch.tensor(slopes, dtype=torch.float64)
    analytical = culprit.gradient.cpu()[places]
    return Sample(point, culprit, places, analytical, numerical, tolerance=max(1e-4, 10 * fineness(point)))


_SHORTENINGS = 6


@dataclass(frozen=True)
class Culprit:
    """One entry of the Jacobian on which backward and the differences disagree."""

    leaf: Slot
    output: Slot
    place: int  # in the row of inputs
    out_place: int  # in the row of outputs
    analytical: float
    numerical: float
    error: float  # how far off the numerical value may be
    typical: float  # the largest derivative of this output by anything near: what "small" is measured by
    weights: torch.Tensor  # the output gradient that brought it to light, on this output alone
    gradient: torch.Tensor  # what backward made of it

    @property
    def relative_error(self) -> float:
        largest = max(abs(self.analytical), abs(self.numerical))
        return gap(self.analytical, self.numerical) / largest if largest else 0.0


def gap(analytical: float, numerical: float) -> float:
    difference = abs(analytical - numerical)
    return difference if math.isfinite(difference) else math.inf


def sound_step(point: GradcheckPoint, direction: torch.Tensor, usual: float) -> float | None:
    """The usual step, shortened where it leaves the domain of the function; None at its very edge."""
    for shortening in range(_SHORTENINGS):
        step = usual / 16.0**shortening
        if bool(torch.isfinite(central_difference(point, direction, step)).all()):
            return step
    return None


class Search:
    def __init__(self, point: GradcheckPoint, steps: DifferenceSteps, suspicion: Suspicion, step: float) -> None:
        self._point = point
        self._steps = steps
        self._direction = suspicion.direction
        self._weights = [only(suspicion.weights, slot.start, slot.stop) for slot in point.y]
        self._gradients = [point.pull(weights) for weights in self._weights]
        self._step = step

    def culprits(self) -> list[Culprit]:
        """One for each wrong leaf, the most wrong first."""
        point, step = self._point, self._step
        rated = []
        for leaf in point.x:
            direction = only(self._direction, leaf.start, leaf.stop)
            change = central_difference(point, direction, step)
            ratings = []  # how many times the allowed difference, at each output
            for weights, gradient in zip(self._weights, self._gradients, strict=True):
                terms, numerical = gradient * direction, float(weights @ change)
                scale = float(torch.linalg.vector_norm(terms)) + abs(numerical)
                noise = float(torch.linalg.vector_norm(weights * point.at_point))
                allowed = fineness(point) * scale + 100 * point.precision * noise / step
                ratings.append(gap(float(terms.sum()), numerical) / allowed if allowed else 0.0)
            rated.append((max(ratings), leaf, ratings.index(max(ratings))))
        rated.sort(key=lambda entry: -entry[0])
        wrong = [entry for entry in rated if entry[0] > 1.0] or rated[:1]
        return [self._narrowed(leaf, output) for _, leaf, output in wrong]

    def _narrowed(self, leaf: Slot, output: int) -> Culprit:
        point, weights, gradient = self._point, self._weights[output], self._gradients[output]

        def input_gap(start: int, stop: int) -> float:
            direction = only(self._direction, start, stop)
            change = central_difference(point, direction, self._step)
            return gap(float(gradient @ direction), float(weights @ change))

        place = _halved(leaf.start, leaf.stop, input_gap)
        column = self.column(place)

        def output_gap(start: int, stop: int) -> float:
            part = only(weights, start, stop)
            return gap(float(point.pull(part)[place]), float(part @ column))

        slot = point.y[output]
        out_place = _halved(slot.start, slot.stop, output_gap)
        unit = one_at(point.at_point, out_place)
        analytical = float(point.pull(unit)[place])
        scale = float(self._steps.scales[place])
        numerical, error = careful_slope(point, one_at(point.inputs, place, scale), unit, self._step)
        typical = float(column.abs().max())
        return Culprit(
            leaf, slot, place, out_place, analytical, numerical / scale, error / scale, typical, weights, gradient
        )  # fmt: skip

    def column(self, place: int) -> torch.Tensor:
        """The derivative of every output by one input."""
        scale = float(self._steps.scales[place])
        return central_difference(self._point, one_at(self._point.inputs, place, scale), self._step) / scale


def _halved(start: int, stop: int, gap_of: Callable[[int, int], float]) -> int:
    while stop - start > 1:
        middle = (start + stop) // 2
        if gap_of(start, middle) >= gap_of(middle, stop):
            stop = middle
        else:
            start = middle
    return start


def only(row: torch.Tensor, start: int, stop: int) -> torch.Tensor:
    part = torch.zeros_like(row)
    part[start:stop] = row[start:stop]
    return part


def one_at(like: torch.Tensor, place: int, value: float = 1.0) -> torch.Tensor:
    row = torch.zeros_like(like)
    row[place] = value
    return row
