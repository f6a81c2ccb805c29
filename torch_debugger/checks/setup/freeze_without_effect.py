"""TD119: a part was meant to stay as it is, and the line that says so switches nothing."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at
from torch_debugger.checks.gradient_flags import cause, edit, fix, unmatched, where
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GradientFlag, Place, Record, UnmatchedSwitch


class FreezeWithoutEffect(Check):
    """A part of the model is trained, although a line of the script freezes it.

    Symptom:
        A pretrained backbone loses what it knew, or the run needs more memory than a frozen one should.
    Evidence:
        An attribute like `requires_grad` was set to False on a module, or under a misspelled name on a
        parameter. Neither is a switch: all values of that part need a gradient, and the optimizer moved
        them on every look. Or a loop over `named_parameters()` freezes by a test of the name that no name
        passes, or a line compares (`p.requires_grad == False`), and nothing is frozen.
    Fix:
        `module.requires_grad_(False)`, or `parameter.requires_grad = False` for each parameter.
    Known limits:
        An attribute that another line sets to True (the two halves of a GAN) is not reported: there each
        optimizer leaves the other half alone anyway.
    """

    id = "TD119"
    name = "freeze-without-effect"
    title = "a part is trained although a line freezes it"
    reads = (GradientFlag, UnmatchedSwitch)

    looks = 3

    def __init__(self) -> None:
        self._seen: dict[str, list[GradientFlag]] = {}
        self._unmatched: dict[Place, list[UnmatchedSwitch]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, UnmatchedSwitch):
            self._unmatched.setdefault(record.place, []).append(record)
            return
        assert isinstance(record, GradientFlag)
        if record.value or record.toggled or record.frozen or not record.moved:
            self._seen.pop(record.owner, None)
            return
        flags = self._seen.setdefault(record.owner, [])
        flags.append(record)
        if len(flags) == self.looks:
            yield self._judge(flags[0], record.step)

    def finish(self, state: RunState) -> Iterable[Finding]:
        for flags in self._seen.values():
            if len(flags) > self.looks or flags[-1].step >= state.step:  # one look at the very end is enough
                yield self._judge(flags[0], max(state.step, flags[-1].step))

        for switches in self._unmatched.values():
            switch = switches[-1]
            if len(switches) >= self.looks and not switch.value and switch.trainable and not switch.frozen:
                yield self._judge_names(switches[0], switch)

    def _judge_names(self, first: UnmatchedSwitch, switch: UnmatchedSwitch) -> Finding:
        why, advice = unmatched(switch)
        return self.finding(
            severity="error",
            confidence=0.88,
            message=(
                f"{call_at(switch.place, 'requires_grad_(False)')} freezes nothing of `{switch.root}`: all "
                f"{switch.trainable:,} values are trained, until step {switch.step}."
            ),
            why=why,
            fix=advice,
            where=switch.place,
            first_step=first.step,
            last_step=switch.step,
            evidence={"test": switch.test, "frozen_values": float(switch.frozen)},
        )

    def _judge(self, flag: GradientFlag, last_step: int) -> Finding:
        return self.finding(
            severity="error",
            confidence=0.93,
            message=(
                f"The optimizer moves {flag.moved:,} values of `{flag.owner}` since step {flag.step}: "
                f"{call_at(flag.place, f'{flag.owner}.{flag.attribute} = False')} does not freeze them."
            ),
            why=cause(flag),
            fix=fix(flag),
            where=where(flag),
            first_step=flag.step,
            last_step=last_step,
            evidence={"attribute": flag.attribute, "moved_values": float(flag.moved)},
            edit=edit(flag),
        )
