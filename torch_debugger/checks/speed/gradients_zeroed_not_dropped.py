"""TD716: gradients are filled with zeros instead of being let go."""

from __future__ import annotations

import re

from torch_debugger.checks.line_cost import Advice, LineCost
from torch_debugger.checks.state import RunState
from torch_debugger.checks.step_lines import DearLine, StepSample
from torch_debugger.records import Edit, Place

_KEEPS = re.compile(r",?\s*set_to_none\s*=\s*False")
_BY_HAND = re.compile(
    r"\.grad(\.data|\.detach\(\)|\.detach_\(\))?\.(zero_\(\)|fill_\(0(\.0)?\)|mul_\(0(\.0)?\))"
)


class GradientsZeroedNotDropped(LineCost):
    """Gradients are filled with zeros in every step, and the backward adds to the zeros.

    Symptom:
        Steps of a model with large weights (embeddings, wide layers) take longer than its arithmetic explains,
        most of all with small batches.
    Evidence:
        The share of sampled stacks in `zero_grad(set_to_none=False)` or `p.grad.zero_()`, in every step. The
        backward then adds to every gradient where it could have stored its own: at least as long again.
    Fix:
        `optimizer.zero_grad()`: it lets the gradients go, and the next backward brings new ones.
    Known limits:
        Code that reads a gradient between `zero_grad()` and `backward()` finds None then. Said only where the
        saving is 5 % of a step or more: large weights and little arithmetic. In containers in which new memory
        is dear (measured in one: a step took 1.5 times as long), zeros may be the quicker way on a CPU.
    """

    id = "TD716"
    name = "gradients-zeroed-not-dropped"
    title = "gradients are filled with zeros instead of being let go"

    # The zeros, and the additions to them: 2.5 to 5 times as long as the zeros alone, where it was measured.
    saved = 2.5
    least_samples = 6
    is_loud = False  # the cost of the additions is an estimate

    def fits(self, sample: StepSample) -> bool:
        code = sample.place.code or ""
        return _KEEPS.search(code) is not None or _BY_HAND.search(code) is not None

    def advise(self, line: DearLine, state: RunState) -> Advice:
        edit = _dropped(line.place)
        by_hand = f"Call `{next(iter(state.optimizers), 'optimizer')}.zero_grad()` instead"
        return Advice(
            what="Filling gradients with zeros",
            why=(
                "Zeros are written over all gradients, and the backward reads them again to add to them. Where "
                "there is no gradient it stores its own, and neither is needed."
            ),
            fix=(f"Write `{edit.after}`" if edit else by_hand) + ": it lets the gradients go.",
            edit=edit,
        )


def _dropped(place: Place) -> Edit | None:
    code = place.code or ""
    if place.file is None or place.line is None or not _KEEPS.search(code):
        return None
    after = _KEEPS.sub("", code).replace("(, ", "(")
    return Edit(place.file, place.line, code, after)
