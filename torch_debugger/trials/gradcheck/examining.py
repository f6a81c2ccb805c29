"""A subject examined from first to last: its conduct, its gradients, and beside kinks once more."""

from __future__ import annotations

import torch

from torch_debugger.trials.gradcheck import conduct
from torch_debugger.trials.gradcheck.comparing import Comparison, Kink, Tolerance, compare
from torch_debugger.trials.gradcheck.point import BackwardError, Point, UnevenOutputsError
from torch_debugger.trials.gradcheck.raised import backward_raised
from torch_debugger.trials.gradcheck.result import GradcheckResult, Problem
from torch_debugger.trials.gradcheck.rows import Slot
from torch_debugger.trials.gradcheck.subject import Subject

_NUDGE = 1e-3
_NUDGES = 4


class Examination:
    """Collects what there is to say about one subject."""

    def __init__(self, subject: Subject, all_names: list[str], notes: list[str], second_order: bool) -> None:
        self._subject = subject
        self._all_names = all_names  # of every input, also of those not checked
        self._notes = list(notes)
        self._problems: list[Problem] = []
        self._second_order = second_order
        self._comparison = Comparison()

    def carry_out(self, tolerance: Tolerance) -> GradcheckResult:
        try:
            if self._behaves():
                self._look_beside_kinks(tolerance)
        except BackwardError as error:
            cause = error.__cause__
            assert cause is not None
            self._problems.append(backward_raised(cause, self._all_names))
        except UnevenOutputsError:
            self._problems.append(_uneven())
        return self._result()

    def _result(self) -> GradcheckResult:
        found = self._comparison
        if found.within_tolerance and not found.mismatches:
            self._notes.append(
                f"The gradients are off by {found.within_tolerance:.1g} (relative), which is more than "
                "rounding "
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
        point = Point(self._subject)
        if not point.y or not len(point.at_point):
            self._problems.append(_nothing_returned())
            return False
        if not bool(torch.isfinite(point.at_point).all()):
            self._problems.append(_not_finite(point))
            return False
        if not conduct.runs_alike(point):
            return self._hold_randomness()
        hidden, known = conduct.changed_in_place(point)
        if hidden:
            self._problems.append(conduct.in_place(hidden))
            return False
        self._note(point, known)
        return self._backward_behaves(point)

    def _hold_randomness(self) -> bool:
        self._subject = conduct.SameRandomness(self._subject)
        drawn = conduct.runs_alike(Point(self._subject))
        self._problems.append(conduct.non_deterministic(drawn))
        return drawn

    def _note(self, point: Point, known: list[str]) -> None:
        if known:
            self._notes.append(f"The forward changes {_listed(known)} in place; copies were given to it.")
        if point.left_out:
            numbers = ", ".join(f"output {number}" for number in point.left_out)
            self._notes.append(f"{numbers} requires no gradient and was left out.")

    def _backward_behaves(self, point: Point) -> bool:
        if not conduct.pulls_alike(point):
            self._problems.append(conduct.backward_non_deterministic())
            return False
        if point.wrote_into_incoming:
            self._problems.append(conduct.incoming_written())
        if len(point.y) > 1 and not conduct.handles_missing_gradients(point):
            self._problems.append(_needs_all_gradients())
            return False
        self._leave_out_unreached(point)
        return True

    def _leave_out_unreached(self, point: Point) -> None:
        """An input that nobody marked and that gets no gradient (a mask, a target) is taken as meant so."""
        gradients = point.pulled(torch.ones_like(point.at_point))
        unreached = [slot.name for slot, gradient in zip(point.x, gradients, strict=True) if gradient is None]
        names = [name for name in unreached if name in self._subject.unmarked]
        if not names or len(unreached) == len(gradients):
            return
        self._notes.append(
            f"No gradient arrives at {_listed(names)}, so it was not checked. Pass it with "
            "requires_grad=True if "
            "it should have one."
        )
        for name in names:
            self._subject.leave_out(name)

    def _look_beside_kinks(self, tolerance: Tolerance) -> None:
        signs = (None, None, 1.0, -1.0)
        for attempt in range(_NUDGES + 1):
            self._comparison = compare(Point(self._subject), tolerance, at_first=attempt == 0)
            kinks = self._comparison.kinks
            if not kinks:
                return
            if attempt < _NUDGES:
                self._nudge([kink.leaf for kink in kinks], signs[attempt], attempt)
                self._say_kink(kinks)
        self._problems.append(_stays_on_kink(self._comparison.kinks[0]))

    @torch.no_grad()
    def _nudge(self, slots: list[Slot], sign: float | None, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        for slot in slots:
            leaf = self._subject.leaves[self._subject.leaf_names.index(slot.name)]
            size = torch.rand(leaf.shape, generator=generator, dtype=torch.float64) + 0.5
            if sign is None:
                size *= torch.randint(0, 2, leaf.shape, generator=generator) * 2 - 1
            scale = float(leaf.abs().mean()) or 1.0
            leaf += (size * (sign or 1.0) * _NUDGE * scale).to(leaf.device, leaf.dtype)

    def _say_kink(self, kinks: list[Kink]) -> None:
        for kink in kinks:
            slot = kink.leaf
            note = (
                f"{kink.spelled} lies on a point without a derivative (as ReLU or a root at 0, or a tie of a "
                "max). "
                f"`{slot.name}` was moved by about {_NUDGE:g} of its size, and checked there."
            )
            if not any(f"`{slot.name}` was moved" in before for before in self._notes):
                self._notes.append(note)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _uneven() -> Problem:
    return Problem(
        "uneven-outputs",
        "the outputs change their number or shape when the inputs change a little: there is no derivative.",
        "Check the part before the shapes depend on values (a mask, `nonzero`, a threshold).",
    )


def _nothing_returned() -> Problem:
    return Problem(
        "no-output",
        "it returned no floating-point tensor, so there is nothing to differentiate.",
        "Return the tensor that the gradient is taken of.",
    )


def _not_finite(point: Point) -> Problem:
    place = int((~torch.isfinite(point.at_point)).nonzero()[0])
    slot = next(slot for slot in point.y if slot.start <= place < slot.stop)
    return Problem(
        "not-finite",
        f"`{slot.spelled(place)}` is {float(point.at_point[place])} at these inputs.",
        "Choose inputs inside the domain of the function, away from its edges.",
    )


def _needs_all_gradients() -> Problem:
    return Problem(
        "missing-gradients",
        "backward gives another result when only one of the outputs takes part in the loss: it does not expect "
        "that the gradient of the others is missing.",
        "In `backward`, treat an incoming gradient of None as zeros, or leave out "
        "`ctx.set_materialize_grads(False)`.",
    )


def _stays_on_kink(kink: Kink) -> Problem:
    return Problem(
        "kink",
        f"{kink.spelled} lies on a point without a derivative, and so do the points around it that were tried.",
        "Choose other inputs: away from kinks, jumps, ties and the edges of the domain.",
    )
