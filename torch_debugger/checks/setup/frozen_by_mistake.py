"""TD118: a part was meant to be trained, and the line that says so switches nothing."""

from __future__ import annotations

from collections.abc import Iterable

from torch_debugger.checks.base import Check
from torch_debugger.checks.cycle_streaks import call_at
from torch_debugger.checks.gradient_flags import cause, edit, fix, unmatched, where
from torch_debugger.checks.state import RunState
from torch_debugger.records import Finding, GradientFlag, Place, Record, UnmatchedSwitch


class FrozenByMistake(Check):
    """A part of the model stays frozen, although a line of the script unfreezes it.

    Symptom:
        Fine-tuning is no better than training the head alone: the layers that were unfrozen do not move.
    Evidence:
        An attribute like `requires_grad` was set to True on a module, or under a misspelled name on a
        parameter. Neither is a switch, and all values of that part still need no gradient. Or a loop over
        `named_parameters()` unfreezes by a test of the name that no name passes.
    Fix:
        `module.requires_grad_(True)`, or `parameter.requires_grad = True` for each parameter.
    Known limits:
        Frozen parts that no line tries to unfreeze are taken to be frozen on purpose. Of tests of the name only
        those are judged that are made of constants and are reached without a condition.
    """

    id = "TD118"
    name = "frozen-by-mistake"
    title = "a part stays frozen although a line unfreezes it"
    reads = (GradientFlag, UnmatchedSwitch)
    explains = (
        "lr-too-high",
        "posterior-collapse",
        "frozen-at-random",
    )  # what is not trained keeps the loss where it was

    # A second look must agree: the line may stand between two others that do switch.
    looks = 2

    def __init__(self) -> None:
        self._seen: dict[str, list[GradientFlag]] = {}
        self._unmatched: dict[Place, list[UnmatchedSwitch]] = {}

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, UnmatchedSwitch):
            self._unmatched.setdefault(record.place, []).append(record)
            return
        assert isinstance(record, GradientFlag)
        if not record.value or record.trainable or not record.frozen:
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
            if len(switches) >= self.looks and switch.value and switch.frozen:
                yield self._judge_names(switches[0], switch)

    def _judge_names(self, first: UnmatchedSwitch, switch: UnmatchedSwitch) -> Finding:
        why, advice = unmatched(switch)
        return self.finding(
            severity="error",
            confidence=0.88,
            message=(
                f"{call_at(switch.place, 'requires_grad_(True)')} unfreezes nothing of `{switch.root}`: "
                f"{switch.frozen:,} of its values are still frozen at step {switch.step}."
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
            confidence=0.95,
            message=(
                f"All {flag.frozen:,} values of `{flag.owner}` are still frozen at step {flag.step}: "
                f"{call_at(flag.place, f'{flag.owner}.{flag.attribute} = True')} does not unfreeze them."
            ),
            why=cause(flag),
            fix=fix(flag),
            where=where(flag),
            first_step=flag.step,
            last_step=last_step,
            evidence={"attribute": flag.attribute, "frozen_values": float(flag.frozen)},
            edit=edit(flag),
        )
