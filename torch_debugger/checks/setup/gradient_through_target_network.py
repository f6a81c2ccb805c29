"""TD144: gradients that flow into a target network."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.followers import is_follower
from torch_debugger.checks.schedules import at_line
from torch_debugger.checks.state import RunState
from torch_debugger.records import CopyLook, Finding, Place, Record


class GradientThroughTargetNetwork(Check):
    """A target or averaged network, which the script updates itself, gets gradients from the loss.

    Symptom:
        Learning with a target network is unstable or drifts, because the target is moved to meet the
        prediction; at best, a good part of every backward pass is thrown away.
    Evidence:
        The network is a copy of the trained one, has a name that says it follows (`target`, `ema`), is written
        to by the script, and yet its parameters have gradients that are not zero.
    Fix:
        Compute the target under `torch.no_grad()`, and leave the copy's parameters out of the optimizer.
    Known limits:
        Copies with other names are not judged: two networks of one class may well be trained together. A
        target that the trained network itself computes is not seen. On the CPU only.
    """

    id = "TD144"
    name = "gradient-through-target-network"
    title = "a target network gets gradients"
    reads = (CopyLook,)
    explains = ("parameters-not-in-optimizer",)

    looks_needed = 3

    def __init__(self) -> None:
        self._reached: dict[str, list[CopyLook]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        assert isinstance(record, CopyLook)
        written = record.loads or record.walks or (record.changed and not record.held)
        if record.gradient and written and is_follower(record):
            looks = self._reached.setdefault(record.name, [])
            looks.append(record)
            if len(looks) == self.looks_needed:
                yield self._found(looks)

    def _found(self, looks: list[CopyLook]) -> Finding:
        first, last = looks[0], looks[-1]
        also = " and an optimizer holds them" if last.held else ""
        return self.finding(
            severity="error" if last.held else "warning",
            confidence=0.92 if last.held else 0.88,
            message=(
                f"The loss sends gradients into `{last.name}`{also}, although it is a copy of `{last.of}` that "
                f"the script keeps up to date itself{_by(last)}; seen since step {first.step}."
            ),
            why=(
                "A target is meant to stand still while the prediction moves towards it. With the graph left "
                "on, backward() also computes how the target should move, and an optimizer that holds it "
                "moves it."
            ),
            fix=_fix(last),
            where=_where(last),
            first_step=first.step,
            last_step=last.step,
            evidence={"copy_of": last.of, "in_optimizer": float(last.held)},
        )


def _by(look: CopyLook) -> str:
    """The line that does it, where it is known."""
    written = (*look.walks, *look.loads)
    return at_line(written[-1]) if written else ""


def _where(look: CopyLook) -> Place:
    """The one line that calls it, else the one that makes it."""
    return look.calls[0] if len(look.calls) == 1 else look.made or Place(module=look.name)


def _fix(look: CopyLook) -> str:
    advice = f"Call `{look.name}(...)` under `with torch.no_grad():`, or freeze it once: "
    advice += f"`{look.name}.requires_grad_(False)` after the line that makes it{at_line(look.made)}"
    return advice + (", and leave its parameters out of the optimizer." if look.held else ".")
