"""Averaged and target networks: never updated, or reached by gradients."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.models import is_follower
from torch_debugger.records import CopyLook, Finding, Place


class EmaNeverUpdated(Check):
    """A copy of the model that should follow it (an average, a target network) never changes.

    Symptom:
        The averaged model scores like an untrained one, however long the training; or learning with a target
        network stops early, because its targets are those of the first random weights.
    Evidence:
        The copy began equal to the model and has a name or a class of its own that says it follows
        (`ema`, `target`, AveragedModel), or a loop goes through the parameters of both and writes to none. The
        model has moved since, and the copy has not until the end.
    Fix:
        Update the copy in place after `optimizer.step()`, under `torch.no_grad()`: `p_copy.lerp_(p, 0.01)`.
        An assignment to the loop variable only gives that variable another tensor.
    Known limits:
        Copies with other names are not judged: a teacher or a reference model often has to stay as it is.
        Where the script writes to the copy under a condition, however seldom, nothing is said. On the CPU only.
    """

    id = "TD143"
    name = "ema-never-updated"
    title = "an averaged or target model never changes"
    reads = (CopyLook,)

    updates_needed = 40
    # The last look must lie near the end: an average may begin late.
    looked_until = 0.8

    def __init__(self) -> None:
        self._last: dict[str, CopyLook] = {}

    def see(self, record: CopyLook, state: RunState) -> None:
        self._last[record.name] = record

    def finish(self, state: RunState) -> Iterable[Finding]:
        if state.end is None or state.end.outcome != "finished":
            return
        for look in self._last.values():
            still = look.began_equal and look.moved and not look.changed
            seldom = look.loads or look.sometimes
            late = look.step >= self.looked_until * state.end.steps and look.updates >= self.updates_needed
            meant = is_follower(look) or bool(look.idle)
            if meant and still and late and not seldom and not look.held:
                where = look.idle or look.uncalled or (look.walks[-1] if len(look.walks) == 1 else look.made)
                yield self.finding(
                    severity="warning",
                    confidence=0.9,
                    message=f"`{look.name}`{at_line(look.made)} has not changed since it was made: after "
                    f"{look.updates} updates of `{look.of}` it still has the weights that `{look.of}` began with.",
                    why="A copy does not follow by itself. It must be written to in place after each update; "
                    "`p = decay * p + ...` inside a loop only gives the name p to a new tensor.",
                    fix=_fix(look),
                    where=where or Place(module=look.name),
                    steps=(1, look.step),
                    evidence={"updates": float(look.updates), "copy_of": look.of},
                )


def _fix(look: CopyLook) -> str:
    after = f"after `optimizer.step()`{at_line(look.update)}"
    if look.kind == "AveragedModel":
        return f"Call `{look.name}.update_parameters({look.of})` {after}."
    if look.uncalled and not look.idle:
        return f"Have `{look.uncalled.code}`{at_line(look.uncalled)} called {after}: no line calls it."
    if look.walks and not look.idle:
        loop = f"the loop{at_line(look.walks[-1])}, which writes to `{look.name}`"
        return f"Run {loop}, {after}: it was never run."
    loop = f"for a, p in zip({look.name}.parameters(), {look.of}.parameters()): a.lerp_(p, 0.01)"
    place = f" in place of the loop{at_line(look.walks[-1])}" if look.idle else f" {after}"
    return f"Write `{loop}`, under `torch.no_grad()`,{place}."


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

    def see(self, record: CopyLook, state: RunState) -> Iterable[Finding]:
        written = record.loads or record.walks or (record.changed and not record.held)
        if record.gradient and written and is_follower(record):
            looks = self._reached.setdefault(record.name, [])
            looks.append(record)
            if len(looks) == self.looks_needed:
                first, last = looks[0], looks[-1]
                also = " and an optimizer holds them" if last.held else ""
                called = last.calls[0] if len(last.calls) == 1 else last.made
                advice = f"Call `{last.name}(...)` under `with torch.no_grad():`, or freeze it once: "
                advice += f"`{last.name}.requires_grad_(False)` after the line that makes it{at_line(last.made)}"
                yield self.finding(
                    severity="error" if last.held else "warning",
                    confidence=0.92 if last.held else 0.88,
                    message=f"The loss sends gradients into `{last.name}`{also}, although it is a copy of `{last.of}` "
                    f"that the script keeps up to date itself{_by(last)}; seen since step {first.step}.",
                    why="A target is meant to stand still while the prediction moves towards it. With the graph left "
                    "on, backward() also computes how the target should move, and an optimizer that holds it moves it.",
                    fix=advice + (", and leave its parameters out of the optimizer." if last.held else "."),
                    where=called or Place(module=last.name),
                    steps=(first.step, last.step),
                    evidence={"copy_of": last.of, "in_optimizer": float(last.held)},
                )


def _by(look: CopyLook) -> str:
    """The line that does it, where it is known."""
    written = (*look.walks, *look.loads)
    return at_line(written[-1]) if written else ""
