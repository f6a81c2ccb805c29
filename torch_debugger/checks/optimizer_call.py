"""The line that makes an optimizer, as text: what it was given, and how the line should read."""

from __future__ import annotations

import re
from collections.abc import Iterable

from torch_debugger.records import Edit, OptimizerFact, Place

_PARAMETERS = re.compile(r"([A-Za-z_][\w.]*)\.parameters\(\)")
_RATE = re.compile(r"\blr\s*=\s*([0-9][0-9_.]*(?:[eE][+-]?[0-9]+)?)")

# They divide by the gradient's own size, down to their eps.
_ADAPTIVE = ("adam", "rmsprop", "adagrad", "adadelta", "lion", "adafactor", "rprop")


def is_adaptive(kind: str) -> bool:
    return any(word in kind.lower() for word in _ADAPTIVE)


def whole_model(call: str, root: str, names: Iterable[str], held: Iterable[str]) -> tuple[str, str] | None:
    """The one `x.parameters()` of the call as (x, the text for the whole model inside x).

    Both are equal where x already is the whole model. The user's text may name the model
    differently here (self.net) than where it was first called (net): what follows the root decides.
    A part may have a variable of its own as well (decoder): then what the optimizer holds is that part.
    """
    given = _PARAMETERS.findall(call)
    if len(given) != 1:
        return None
    parts = given[0].split(".")
    known, own = tuple(names), set(held)
    part = f"{root}.{parts[-1]}."
    if given[0] != root and own and own == {name for name in known if name.startswith(part)}:
        return given[0], root if len(parts) == 1 else ".".join(parts[:-1])
    for length in range(1, len(parts)):
        inner = ".".join([root, *parts[length:]]) + "."
        if any(name.startswith(inner) for name in known):
            return given[0], ".".join(parts[:length])
    return given[0], given[0]


def give_whole_model(optimizer: OptimizerFact, root: str, names: Iterable[str]) -> Edit | None:
    found = whole_model(optimizer.place.code or "", root, names, optimizer.parameters)
    if found is None or found[0] == found[1]:
        return None
    return _edit(optimizer.place, f"{found[0]}.parameters()", f"{found[1]}.parameters()")


def give_second_model(optimizer: OptimizerFact, root: str) -> Edit | None:
    """`a.parameters()` becomes `list(a.parameters()) + list(root.parameters())`, where it is given or where the
    variable that is given is filled."""
    for place in (optimizer.place, optimizer.filled or Place()):
        given = _PARAMETERS.findall(place.code or "")
        if len(given) == 1:
            one = f"list({given[0]}.parameters())"
            before = one if one in (place.code or "") else f"{given[0]}.parameters()"
            return _edit(place, before, f"{one} + list({root}.parameters())")
    return None


def highest_rate(optimizer: OptimizerFact | None) -> float | None:
    rates = [group["lr"] for group in optimizer.groups if "lr" in group] if optimizer else []
    return max(rates) if rates else None


def only_decay(optimizer: OptimizerFact | None) -> float | None:
    """The weight decay that all groups share; None where they differ."""
    decays = {group.get("weight_decay", 0.0) for group in optimizer.groups} if optimizer else set()
    return decays.pop() if len(decays) == 1 else None


def change_rate(optimizer: OptimizerFact, factor: float) -> Edit | None:
    """The line with its literal `lr=` multiplied by a factor."""
    written = _RATE.search(optimizer.place.code or "")
    if written is None:
        return None
    rate = float(written.group(1)) * factor
    return _edit(optimizer.place, written.group(0), f"lr={rate:.3g}")


def _edit(place: Place, before: str, after: str) -> Edit | None:
    if place.file is None or place.line is None or not place.code:
        return None
    return Edit(place.file, place.line, place.code, place.code.replace(before, after, 1))
