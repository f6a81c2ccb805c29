"""A tensor that backward needed was written into after the forward had saved it."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.autograd.carried import carried_change
from torch_debugger.checks.explainers.autograd.new_tensors import new_tensor
from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import calls_of, one_line, rewritten
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.autograd import InPlaceWrite, Overwritten

_WHY = (
    "Backward computes with tensors that the forward saved; it stops when one of them is no longer "
    "what it was. "
)
_SURE = {"replay": 0.97, "variable": 0.96, "graph": 0.93, "step": 0.95, "update": 0.9, "source": 0.88}


def explain_overwritten(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    victim = evidence.overwritten if evidence is not None else None
    if victim is None or not victim.writes:
        return None
    return _by_update(crash, victim) if victim.parameter else _by_write(crash, victim)


def _by_write(crash: CrashFact, victim: Overwritten) -> Blame:
    write = victim.writes[0]
    change = _layer_change(write) if write.layer else new_tensor(write.place)
    made = f", made by `{victim.maker}`," if victim.maker else ""
    writer = (
        f"`{write.constructor.module or write.place.module}` ({write.layer})" if write.layer else "The line"
    )
    more = f", and {len(victim.writes) - 1} more later" if len(victim.writes) > 1 else ""
    return Blame(
        message=f"{writer} at {place_text(write.place)} writes into a tensor {shape_text(victim.shape)}{made} "
        f"that backward still needs: `{_short(write.place)}`{more}.",
        why=_WHY + _saved(victim) + "A write in place replaces the values for everyone who holds the tensor.",
        fix=change.text,
        where=change.where,
        evidence=_evidence(crash, victim),
        confidence=_SURE[victim.by],
        edit=change.edit,
    )


def _saved(victim: Overwritten) -> str:
    if not victim.saved.file:
        return ""
    return f"This one was saved at {place_text(victim.saved)}, `{_short(victim.saved)}`. "


def _short(place: Place) -> str:
    return one_line(place.code or "").split("\n")[0]


def _evidence(crash: CrashFact, victim: Overwritten) -> dict[str, float | str]:
    told: dict[str, float | str] = {
        "version": f"{victim.version}, saved at {victim.expected}",
        "writer": line_text(victim.writes[0].place),
    }
    if victim.saved.file:
        told["saved"] = line_text(victim.saved)
    return told | {"backward": line_text(crash.place)}


def _layer_change(write: InPlaceWrite) -> Change:
    """Build the layer without inplace=True."""
    place = write.constructor if write.constructor.file else write.place
    for call in calls_of(place.code or "", write.layer):
        plain = re.sub(r",?\s*inplace\s*=\s*True", "", call).replace("(, ", "(")
        plain = plain.replace(f"{write.layer}(True)", f"{write.layer}()")
        if plain != call:
            text = f"Build it without `inplace`: change `{call}` to `{plain}` at {place_text(place)}."
            return Change(text, rewritten(place, call, plain), place)
    return Change(f"Build the {write.layer} layer without `inplace=True`.", None, place)


def _by_update(crash: CrashFact, victim: Overwritten) -> Blame:
    write, loss = victim.writes[0], _loss(crash)
    message = (
        f"{loss} needs `{victim.parameter}` as it was in the forward, but `{_short(write.place)}` at "
        f"{place_text(write.place)} has changed it since."
    )
    evidence = _evidence(crash, victim) | {"parameter": victim.parameter}
    if victim.carried is not None:
        change = carried_change(victim.carried)
        why = (
            f"`{victim.carried.name}` is kept at {place_text(victim.carried.place)} with the graph of earlier "
            "rounds, so this backward runs through weights that have been updated since."
        )
        return Blame(message, why, change.text, change.where, evidence, 0.95, change.edit)
    again = _once_more(victim)
    name = (
        crash.evidence.autograd.roots[0].name
        if crash.evidence.autograd and crash.evidence.autograd.roots
        else ""
    )
    fix = (
        f"Call `{name or 'loss'}.backward()` before `{_short(write.place)}` at "
        f"{place_text(write.place)}, {again}."
    ).replace(", .", ".")
    return Blame(
        message, _WHY + "An update writes the weights in place.", fix, write.place, evidence, _SURE[victim.by]
    )


def _once_more(victim: Overwritten) -> str:
    """Only a line that calls the model itself can be moved; what it gave before the update stays old."""
    made, (model, _, weight) = victim.loss_made, victim.parameter.partition(".")
    if not made.file:
        return ""
    if not weight or calls_of(made.code or "", model):
        return f"or compute the loss after the update: move `{_short(made)}` below it"
    return f"or call `{model}` once more after the update, and make the loss from what it gives then"


def _loss(crash: CrashFact) -> str:
    frame = user_frame(crash)
    return f"`{one_line(frame.code)}` at {place_text(crash.place)}" if frame is not None else "Backward"
