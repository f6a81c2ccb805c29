"""Layers that are frozen, or trained, against the line that says otherwise."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Iterable
from typing import ClassVar

from torch_debugger.checks.base import Check, RunState, at_line
from torch_debugger.checks.call_edits import edit_line
from torch_debugger.checks.optimization import call_at
from torch_debugger.records import CheckpointLoad, Finding, FrozenAtRandom, GradientFlag, Place, Record, UnmatchedSwitch


class _SwitchCheck(Check):
    """A line that should switch gradients on or off, and does not."""

    reads = (GradientFlag, UnmatchedSwitch)

    looks: ClassVar[int]  # that must agree
    confidence: ClassVar[float]
    counted: ClassVar[str]  # of a flag: the values that are not as the line says

    def __init__(self) -> None:
        self._seen: dict[str, list[GradientFlag]] = {}
        self._unmatched: dict[Place, list[UnmatchedSwitch]] = {}

    @abc.abstractmethod
    def is_without_effect(self, record: GradientFlag | UnmatchedSwitch) -> bool: ...

    @abc.abstractmethod
    def message(self, record: GradientFlag | UnmatchedSwitch) -> str: ...

    def see(self, record: GradientFlag | UnmatchedSwitch, state: RunState) -> Iterable[Finding]:
        if isinstance(record, UnmatchedSwitch):
            self._unmatched.setdefault(record.place, []).append(record)
        elif not self.is_without_effect(record):
            self._seen.pop(record.owner, None)
        else:
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
            if len(switches) >= self.looks and self.is_without_effect(switch):
                why, advice = unmatched(switch)
                yield self.finding(
                    severity="error",
                    confidence=0.88,
                    message=self.message(switch),
                    why=why,
                    fix=advice,
                    where=switch.place,
                    steps=(switches[0].step, switch.step),
                    evidence={"test": switch.test, "frozen_values": float(switch.frozen)},
                )

    def _judge(self, flag: GradientFlag, last_step: int) -> Finding:
        return self.finding(
            severity="error",
            confidence=self.confidence,
            message=self.message(flag),
            why=cause(flag),
            fix=f"Write `{switched(flag)}`{at_line(flag.place)}.",
            where=where(flag),
            steps=(flag.step, last_step),
            evidence={"attribute": flag.attribute, f"{self.counted}_values": float(getattr(flag, self.counted))},
            edit=edit_line(flag.place, switched(flag)),
        )


class FrozenByMistake(_SwitchCheck):
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
    # what is not trained keeps the loss where it was
    explains = ("lr-too-high", "posterior-collapse", "frozen-at-random")

    looks = 2  # a second look must agree: the line may stand between two others that do switch
    confidence = 0.95
    counted = "frozen"

    def is_without_effect(self, record: GradientFlag | UnmatchedSwitch) -> bool:
        if isinstance(record, UnmatchedSwitch):
            return record.value and record.frozen > 0
        return record.value and not record.trainable and record.frozen > 0

    def message(self, record: GradientFlag | UnmatchedSwitch) -> str:
        if isinstance(record, UnmatchedSwitch):
            return (
                f"{call_at(record.place, 'requires_grad_(True)')} unfreezes nothing of `{record.root}`: "
                f"{record.frozen:,} of its values are still frozen at step {record.step}."
            )
        return (
            f"All {record.frozen:,} values of `{record.owner}` are still frozen at step {record.step}: "
            f"{call_at(record.place, f'{record.owner}.{record.attribute} = True')} does not unfreeze them."
        )


class FreezeWithoutEffect(_SwitchCheck):
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

    looks = 3
    confidence = 0.93
    counted = "moved"

    def is_without_effect(self, record: GradientFlag | UnmatchedSwitch) -> bool:
        if isinstance(record, UnmatchedSwitch):
            return not record.value and record.trainable > 0 and not record.frozen
        return not (record.value or record.toggled or record.frozen) and record.moved > 0

    def message(self, record: GradientFlag | UnmatchedSwitch) -> str:
        if isinstance(record, UnmatchedSwitch):
            return (
                f"{call_at(record.place, 'requires_grad_(False)')} freezes nothing of `{record.root}`: all "
                f"{record.trainable:,} values are trained, until step {record.step}."
            )
        return (
            f"The optimizer moves {record.moved:,} values of `{record.owner}` since step {record.step}: "
            f"{call_at(record.place, f'{record.owner}.{record.attribute} = False')} does not freeze them."
        )


class FrozenAtRandomCheck(Check):
    """Layers are frozen although nobody has loaded or trained their weights.

    Symptom:
        Fine-tuning learns little: what comes out of the frozen part are random features.
    Evidence:
        All weights of the frozen layers have the spread, the range and the tails of a distribution that
        initializations draw from, and the rest of the model is trained. Some steps later they are still frozen,
        and no value has changed.
    Fix:
        Load the weights before they are frozen, or do not freeze these layers.
    Known limits:
        A note, unless the script has a line that loads weights and that has loaded none: random features may be
        meant. Layers that a class freezes where it makes them are taken to be meant, and so are layers that
        have trained weights of their own, as adapters have. Copies of a trained part, as target networks are,
        and what a moving average follows are left alone. Where some line switches gradients on, only a part
        counts that stays frozen for a hundred steps.
    """

    id = "TD152"
    name = "frozen-at-random"
    title = "layers are frozen with random weights"
    reads = (FrozenAtRandom, CheckpointLoad)
    explains = ("lr-too-low", "lr-too-high")

    share_needed = 0.3  # of the model's values: a small frozen part may be anything

    def __init__(self) -> None:
        self._loads = 0

    def see(self, record: Record, state: RunState) -> Iterable[Finding]:
        if isinstance(record, CheckpointLoad):
            self._loads += bool(record.loaded)
        elif isinstance(record, FrozenAtRandom) and record.elements >= self.share_needed * record.of:
            parts = ", ".join(f"`{part}`" for part in record.parts[:3])
            missed = bool(record.loading) and not self._loads
            load = (
                f"`{record.loading.code}`{at_line(record.loading)} has loaded nothing into it"
                if missed
                else "nobody has loaded or trained it"
            )
            yield self.finding(
                severity="warning" if missed else "note",
                confidence=0.75 if missed else 0.6,
                message=f"Frozen with the random values of its initialization: {parts}, {record.elements:,} of "
                f"{record.of:,} values of `{record.root}`; {load}.",
                why=f"The weights of its largest layer have a standard deviation of {record.spread:.3g}; drawn from "
                f"{record.drawn} they would have {record.expected:.3g}. All {record.layers} layers fit like that, "
                "which trained weights do not.",
                fix=f"Load trained weights before {parts} is frozen{at_line(record.place)}, or leave that line out, "
                "so that it is trained too.",
                where=dataclasses.replace(record.place, module=record.parts[0]),
                steps=(record.step, record.step),
                evidence={
                    "frozen_values": float(record.elements),
                    "values": float(record.of),
                    "spread": record.spread,
                    "expected_spread": record.expected,
                    "drawn_from": record.drawn,
                },
            )


# The line that should have switched gradients on or off, and what it should say.
def switched(flag: GradientFlag) -> str:
    """The line with a switch that works: net.fc.requires_grad_(True)"""
    target = (flag.place.code or "").partition("=")[0].strip().removesuffix(f".{flag.attribute}")
    owner = target or flag.owner
    return f"{owner}.requires_grad_({flag.value})" if flag.is_module else f"{owner}.requires_grad = {flag.value}"


def cause(flag: GradientFlag) -> str:
    if flag.is_module:
        return (
            f"A module has no `{flag.attribute}`: assigning it makes a new attribute that nobody reads. "
            "`requires_grad_()` sets the flag of every parameter inside."
        )
    return (
        f"A tensor's flag is called `requires_grad`; assigning `{flag.attribute}` makes a new attribute that "
        "nobody reads."
    )


def where(flag: GradientFlag) -> Place:
    """Modules or parameters that one line sets in a loop are one finding."""
    named = flag.owner.rpartition(".")[2] in (flag.place.code or flag.owner)
    return dataclasses.replace(flag.place, module=flag.owner if flag.is_module and named else None)


def unmatched(switch: UnmatchedSwitch) -> tuple[str, str]:
    """(why, fix) of a test that no name passes, and of a comparison."""
    if not switch.test:
        written = (switch.place.code or "p.requires_grad == False").replace("==", "=")
        return "`==` compares two values and sets none.", f"Write `{written}`{at_line(switch.place)}."
    names = " and ".join(f"`{name}`" for name in switch.names)
    why = f"`{switch.test}` is true for no parameter: their names begin like {names}."
    words = f"Write the words of `{switch.test}`{at_line(switch.place)} as `named_parameters()` has the names"
    return why, f"{words}, for instance `{switch.names[0]}`." if switch.names else f"{words}."
