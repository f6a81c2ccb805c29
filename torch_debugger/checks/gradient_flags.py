"""The line that should have switched gradients on or off, and what it should say."""

from __future__ import annotations

import dataclasses

from torch_debugger.checks.cycle_streaks import line_of
from torch_debugger.records import Edit, GradientFlag, Place, UnmatchedSwitch


def switched(flag: GradientFlag) -> str:
    """The line with a switch that works: net.fc.requires_grad_(True)"""
    target = (flag.place.code or "").partition("=")[0].strip().removesuffix(f".{flag.attribute}")
    owner = target or flag.owner
    return (
        f"{owner}.requires_grad_({flag.value})" if flag.is_module else f"{owner}.requires_grad = {flag.value}"
    )


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


def fix(flag: GradientFlag) -> str:
    return f"Write `{switched(flag)}`{line_of(flag.place)}."


def edit(flag: GradientFlag) -> Edit | None:
    place = flag.place
    if place.file is None or place.line is None or not place.code:
        return None
    return Edit(place.file, place.line, place.code, switched(flag))


def unmatched(switch: UnmatchedSwitch) -> tuple[str, str]:
    """(why, fix) of a test that no name passes, and of a comparison."""
    if not switch.test:
        written = (switch.place.code or "p.requires_grad == False").replace("==", "=")
        return "`==` compares two values and sets none.", f"Write `{written}`{line_of(switch.place)}."
    names = " and ".join(f"`{name}`" for name in switch.names)
    why = f"`{switch.test}` is true for no parameter: their names begin like {names}."
    words = f"Write the words of `{switch.test}`{line_of(switch.place)} as `named_parameters()` has the names"
    return why, f"{words}, for instance `{switch.names[0]}`." if switch.names else f"{words}."
