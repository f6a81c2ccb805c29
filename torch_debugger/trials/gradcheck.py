"""`gradcheck`: are the gradients of a function, an autograd Function or a module right?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from torch_debugger.model.reruns import keep_randomness, randomness_kept
from torch_debugger.source.frames import shown_where_bare
from torch_debugger.system.errors import DebuggerError
from torch_debugger.trials.gradcheck_comparison import PointComparison, Tolerance, compare
from torch_debugger.trials.gradcheck_differences import (
    BackwardError,
    GradcheckPoint,
    Subject,
    Tensors,
    UnevenOutputsError,
    shifted,
    slot_at,
    to_row,
)
from torch_debugger.trials.gradcheck_inputs import Target, input_names, name_of, narrow_dtypes, prepare
from torch_debugger.trials.gradcheck_mistakes import only
from torch_debugger.trials.gradcheck_result import GradcheckResult, Problem, backward_raised, forward_raised, not_twice


class WrongGradientError(DebuggerError):
    """Raised by gradcheck(..., raise_exception=True); its text is the result's."""

    def __init__(self, result: GradcheckResult) -> None:
        super().__init__(str(result))
        self.result = result


def gradcheck(
    fn_or_module: Target,
    inputs: Any,
    eps: float | None = None,
    atol: float | None = None,
    rtol: float = 1e-3,
    raise_exception: bool = False,
) -> GradcheckResult:
    """Compares the gradients that autograd gives with differences of the function itself.

    Takes a function, an autograd `Function.apply` or a module, whose parameters are checked too. All runs
    are made on copies in float64; the caller's tensors, module and random numbers are left as they are.
    Checked are the inputs that require a gradient or, if none does, all floating-point ones; None and
    anything else is passed on as it is. `eps` is the step of the differences (None: chosen by size and
    precision); an element is wrong when it is off by more than `atol` (None: what rounding explains) plus
    `rtol` of its size.

    The result is true where all is right; its text says what is wrong, where, and what to do:

    >>> x = torch.randn(4, 5, requires_grad=True)
    >>> result = torch_debugger.gradcheck(MyFunction.apply, x)
    >>> assert result, result
    """
    with randomness_kept(), torch.inference_mode(False), torch.enable_grad():
        result = _checked(fn_or_module, inputs, Tolerance(eps, atol, rtol), second_order=False)
    if raise_exception and not result:
        raise WrongGradientError(result)
    return result if raise_exception else shown_where_bare(result)


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
        result = _checked(fn_or_module, inputs, Tolerance(eps, atol, rtol), second_order=True)
    if raise_exception and not result:
        raise WrongGradientError(result)
    return result if raise_exception else shown_where_bare(result)


def _checked(target: Target, inputs: Any, tolerance: Tolerance, *, second_order: bool) -> GradcheckResult:
    values = list(inputs) if isinstance(inputs, (tuple, list)) else [inputs]
    names, narrow = input_names(target, len(values)), ", ".join(narrow_dtypes(target, inputs))
    subject: Subject = prepare(target, inputs, widen=True)
    notes = [f"{narrow} was checked in float64, on copies."] if narrow else []
    error = _failure(subject)
    if error is not None:
        subject = prepare(target, inputs, widen=False) if narrow else subject
        if not narrow or _failure(subject) is not None:
            nones = [name for name, value in zip(names, values, strict=True) if value is None]
            return GradcheckResult(name_of(target), False, problems=(forward_raised(error, nones),))
        notes = [f"It does not run in float64, so it was checked in {narrow}, where differences are coarse."]
    if second_order:
        first = subject
        problem: Problem | None = None
        if GradcheckPoint(first).detached:
            problem = _PROBLEMS["no-graph"]
        else:
            try:
                subject = FirstGradients(first)
                point = GradcheckPoint(subject)
                # A gradient is linear in the incoming one; if that has no influence, the graph ends in backward.
                arrived = point.pulled(torch.ones_like(point.at_point))[len(first.leaves) :]
                problem = not_twice() if all(gradient is None for gradient in arrived) else None
            except Exception as error:  # the user's backward may raise anything, and it is said
                problem = backward_raised(error.__cause__ or error, names)
        if problem is not None:
            return GradcheckResult(name_of(target), True, problems=(problem,), notes=tuple(notes))
    return Examination(subject, names, notes, second_order).carry_out(tolerance)


def _failure(subject: Subject) -> Exception | None:
    try:
        subject.run(None)
    except Exception as error:  # the user's forward may raise anything, and it is said
        return error
    return None


_SEED = 40_009


_SEED = 40_009


class FirstGradients:
    """A subject whose outputs are another's gradients."""

    def __init__(self, first: Subject) -> None:
        self._first = first
        point = GradcheckPoint(first)
        self._chosen = point.chosen
        generator = torch.Generator().manual_seed(_SEED)
        incoming = [
            torch.randn(output.shape, generator=generator, dtype=output.dtype).to(output.device).requires_grad_()
            for output in point.outputs
        ]
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

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        count = len(self._first.leaves)
        inputs, found = self._first.run(None if shifts is None else shifts[:count])
        incoming = shifted(self.leaves[count:], None if shifts is None else shifts[count:])
        outputs = [found[number] for number in self._chosen]
        gradients = torch.autograd.grad(outputs, self._first.leaves, incoming, create_graph=True, allow_unused=True)
        return [*inputs, *incoming], [gradients[number] for number in self._reached]


_NUDGE = 1e-3  # of an input's size, to get away from a kink


class Examination:
    """Collects what there is to say about one subject: its conduct, its gradients, and beside kinks once more."""

    def __init__(self, subject: Subject, all_names: list[str], notes: list[str], second_order: bool) -> None:
        self._subject = subject
        self._all_names = all_names  # of every input, also of those not checked
        self._notes = list(notes)
        self._problems: list[Problem] = []
        self._second_order = second_order
        self._comparison = PointComparison()

    def carry_out(self, tolerance: Tolerance) -> GradcheckResult:
        try:
            if self._behaves():
                self._look_beside_kinks(tolerance)
        except BackwardError as error:
            cause = error.__cause__
            assert cause is not None
            self._problems.append(backward_raised(cause, self._all_names))
        except UnevenOutputsError:
            self._problems.append(_PROBLEMS["uneven-outputs"])
        found = self._comparison
        if found.within_tolerance and not found.mismatches:
            self._notes.append(
                f"The gradients are off by {found.within_tolerance:.1g} (relative), which is more than rounding "
                "explains and within the tolerance."
            )
        return GradcheckResult(
            self._subject.name,
            self._second_order,
            tuple(found.mismatches),
            (*self._problems, *found.problems),
            tuple(self._notes),
            tuple(self._subject.leaf_names),
            found.close_to,
        )

    def _behaves(self) -> bool:
        """Whether it makes sense to compare gradients; what is wrong with it otherwise is noted."""
        point = GradcheckPoint(self._subject)
        if not point.y or not len(point.at_point):
            self._problems.append(_PROBLEMS["no-output"])
            return False
        infinite = (~torch.isfinite(point.at_point)).nonzero()
        if len(infinite):
            place = int(infinite[0])
            spelled = slot_at(point.y, place).spelled(place)
            words = f"`{spelled}` is {float(point.at_point[place])} at these inputs."
            advice = "Choose inputs inside the domain of the function, away from its edges."
            self._problems.append(Problem("not-finite", words, advice))
            return False
        if not runs_alike(point):
            self._subject = SameRandomness(self._subject)
            drawn = runs_alike(GradcheckPoint(self._subject))
            self._problems.append(_PROBLEMS["non-deterministic" if drawn else "stateful"])
            return drawn
        hidden, known = changed_in_place(point)
        if hidden:
            words = f"in-place: the forward changes its input {_listed(hidden)}, and autograd does not know of it."
            advice = "Compute a new tensor (`x * 2`, not `x.mul_(2)`), or call `ctx.mark_dirty(x)` in `forward` and "
            self._problems.append(Problem("in-place", words, f"{advice}return x."))
            return False
        if known:
            self._notes.append(f"The forward changes {_listed(known)} in place; copies were given to it.")
        if point.left_out:
            numbers = ", ".join(f"output {number}" for number in point.left_out)
            self._notes.append(f"{numbers} requires no gradient and was left out.")
        return self._backward_behaves(point)

    def _backward_behaves(self, point: GradcheckPoint) -> bool:
        weights = torch.ones_like(point.at_point)
        if not _same(point.pull(weights), point.pull(weights), point.precision):
            self._problems.append(_PROBLEMS["non-deterministic-backward"])
            return False
        if point.wrote_into_incoming:
            self._problems.append(_PROBLEMS["incoming-gradient-written"])
        for number, slot in enumerate(point.y if len(point.y) > 1 else ()):
            alone = to_row(point.pulled(weights, only=[number]), point.x)
            if not _same(alone, point.pull(only(weights, slot.start, slot.stop)), point.precision):
                self._problems.append(_PROBLEMS["missing-gradients"])
                return False
        # An input that nobody marked and that gets no gradient (a mask, a target) is taken as meant so.
        gradients = point.pulled(weights)
        unreached = [slot.name for slot, gradient in zip(point.x, gradients, strict=True) if gradient is None]
        names = [name for name in unreached if name in self._subject.unmarked]
        if names and len(unreached) < len(gradients):
            self._notes.append(
                f"No gradient arrives at {_listed(names)}, so it was not checked. Pass it with requires_grad=True if "
                "it should have one."
            )
            for name in names:
                self._subject.leave_out(name)
        return True

    def _look_beside_kinks(self, tolerance: Tolerance) -> None:
        signs = (None, None, 1.0, -1.0)
        for attempt in range(len(signs) + 1):
            self._comparison = compare(GradcheckPoint(self._subject), tolerance, at_first=attempt == 0)
            kinks = self._comparison.kinks
            if not kinks:
                return
            if attempt == len(signs):
                words = "lies on a point without a derivative, and so do the points around it that were tried."
                advice = "Choose other inputs: away from kinks, jumps, ties and the edges of the domain."
                self._problems.append(Problem("kink", f"{kinks[0].spelled} {words}", advice))
                return
            self._nudge([kink.leaf.name for kink in kinks], signs[attempt], attempt)
            for kink in kinks:
                if not any(f"`{kink.leaf.name}` was moved" in before for before in self._notes):
                    self._notes.append(
                        f"{kink.spelled} lies on a point without a derivative (as ReLU or a root at 0, or a tie of a "
                        f"max). `{kink.leaf.name}` was moved by about {_NUDGE:g} of its size, and checked there."
                    )

    @torch.no_grad()
    def _nudge(self, names: list[str], sign: float | None, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for name in names:
            leaf = self._subject.leaves[self._subject.leaf_names.index(name)]
            size = torch.rand(leaf.shape, generator=generator, dtype=torch.float64) + 0.5
            if sign is None:
                size *= torch.randint(0, 2, leaf.shape, generator=generator) * 2 - 1
            scale = float(leaf.abs().mean()) or 1.0
            leaf += (size * (sign or 1.0) * _NUDGE * scale).to(leaf.device, leaf.dtype)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


_PROBLEMS = {
    problem.name: problem
    for problem in (
        Problem(
            "no-graph",
            "no output requires a gradient, so there is no first gradient to differentiate.",
            "Look for `.detach()`, `.data`, `.item()` or `torch.no_grad()` on the way from the inputs to the output.",
        ),
        Problem(
            "no-output",
            "it returned no floating-point tensor, so there is nothing to differentiate.",
            "Return the tensor that the gradient is taken of.",
        ),
        Problem(
            "uneven-outputs",
            "the outputs change their number or shape when the inputs change a little: there is no derivative.",
            "Check the part before the shapes depend on values (a mask, `nonzero`, a threshold).",
        ),
        Problem(
            "non-deterministic",
            "non-deterministic: two calls with the same inputs gave different outputs, because random numbers are "
            "drawn. What follows was found with the same random numbers in every call.",
            "Call `.eval()` on a module with dropout; in a function, draw the random numbers outside and pass them in.",
        ),
        Problem(
            "stateful",
            "non-deterministic: two calls with the same inputs gave different outputs, and random numbers are not the "
            "reason. Differences of such a function mean nothing.",
            "Look for state that one call leaves for the next: counters, caches, running averages.",
        ),
        Problem(
            "non-deterministic-backward",
            "non-deterministic: backward, called twice on the same graph, gave different gradients.",
            "Look for what `backward` writes into: saved tensors, attributes of `ctx`, or random numbers it draws.",
        ),
        Problem(
            "incoming-gradient-written",
            "in-place: backward writes into the gradient that it gets, which others in the graph may share.",
            "Compute a new tensor (`grad_output * x`, not `grad_output.mul_(x)`), or begin with "
            "`grad_output = grad_output.clone()`.",
        ),
        Problem(
            "missing-gradients",
            "backward gives another result when only one of the outputs takes part in the loss: it does not expect "
            "that the gradient of the others is missing.",
            "In `backward`, treat an incoming gradient of None as zeros, or leave out "
            "`ctx.set_materialize_grads(False)`.",
        ),
    )
}


_SAME = 64  # roundings: parallel sums may come in another order


class SameRandomness:
    """A subject that draws the same random numbers in every run."""

    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._restore = keep_randomness()
        self.name, self.leaf_names, self.leaves = subject.name, subject.leaf_names, subject.leaves
        self.output_names = subject.output_names
        self.unmarked, self.leave_out = subject.unmarked, subject.leave_out

    def run(self, shifts: Sequence[torch.Tensor] | None) -> tuple[Tensors, Tensors]:
        self._restore()
        return self._subject.run(shifts)


def runs_alike(point: GradcheckPoint) -> bool:
    """Whether a second run at the same point gives the same outputs."""
    again = GradcheckPoint(point.subject)
    return again.at_point.shape == point.at_point.shape and _same(again.at_point, point.at_point, point.precision)


def _same(one: torch.Tensor, other: torch.Tensor, precision: float) -> bool:
    if torch.equal(one, other):
        return True
    difference, size = (one - other).nan_to_num().abs().max(), one.nan_to_num().abs().max()
    same_holes = torch.equal(one.isnan(), other.isnan())
    return same_holes and bool(difference <= _SAME * precision * size)


def changed_in_place(point: GradcheckPoint) -> tuple[list[str], list[str]]:
    """Inputs that the forward wrote into: behind autograd's back, and with its knowledge."""
    hidden, known = [], []
    for name, leaf, value in zip(point.subject.leaf_names, point.subject.leaves, point.given, strict=True):
        if value.grad_fn is not None and value.grad_fn.name() != "CloneBackward0":
            known.append(name)
        elif not torch.equal(value.detach(), leaf.detach()):
            hidden.append(name)
    return hidden, known
