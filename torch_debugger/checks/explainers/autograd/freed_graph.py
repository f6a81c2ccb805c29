"""A backward through a graph that an earlier backward has freed."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.autograd.carried import carried_change
from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.autograd import FreedGraph

_WHY = "Backward frees the values it has used, so each part of a graph can be gone through once. "


def explain_freed_graph(crash: CrashFact) -> Blame | None:
    evidence = crash.evidence.autograd
    freed = evidence.freed if evidence is not None else None
    told = _TELLERS.get(freed.reason) if freed is not None else None
    return told(crash, freed) if told is not None and freed is not None else None


def _call(crash: CrashFact) -> str:
    frame = user_frame(crash)
    return f"`{one_line(frame.code)}` at {place_text(crash.place)}" if frame is not None else "backward()"


def _evidence(crash: CrashFact, freed: FreedGraph) -> dict[str, float | str]:
    told: dict[str, float | str] = {"backward": line_text(crash.place)}
    if freed.first.file:
        told["first"] = line_text(freed.first)
    if freed.made.file:
        told["made"] = line_text(freed.made)
    return told


def _again(crash: CrashFact, freed: FreedGraph) -> Blame:
    change, edit = _retained(freed.first)
    return Blame(
        f"{_call(crash)} goes through the graph of `{freed.name}` a second time; {place_text(freed.first)} has "
        "already done so and freed it.",
        _WHY + f"`{freed.name}` was not computed anew between the two calls.",
        f"Delete one of the two calls. If both are meant, {change}.",
        crash.place,
        _evidence(crash, freed),
        0.97,
        edit,
    )


def _retained(first: Place) -> tuple[str, Edit | None]:
    """The earlier call with retain_graph=True."""
    code = first.code or ""
    kept = re.sub(r"\.backward\(\)", ".backward(retain_graph=True)", code, count=1)
    if kept == code:
        return f"keep the graph for the second: give the call at {place_text(first)} `retain_graph=True`", None
    return f"keep the graph for the second: write `{kept}` at {place_text(first)}", rewritten(first, code, kept)


def _repeated(crash: CrashFact, freed: FreedGraph) -> Blame:
    return Blame(
        f"{_call(crash)} runs in a loop, but `{freed.name}` is computed once, at "
        f"{place_text(freed.made)}, before "
        "the loop; the first round has freed its graph.",
        _WHY + "A loss whose weights have moved must be computed again anyway.",
        f"Move `{_short(freed.made)}` from {place_text(freed.made)} into the loop, with the forward it needs.",
        freed.made,
        _evidence(crash, freed),
        0.96,
    )


def _shared(crash: CrashFact, freed: FreedGraph) -> Blame:
    roots = crash.evidence.autograd.roots if crash.evidence.autograd else ()
    second = roots[0].name if roots and roots[0].name else "this loss"
    shares = (
        f"both go through `{freed.name}`, made at {place_text(freed.made)}"
        if freed.name
        else "both share a part"
    )
    change, edit = _retained(freed.first)
    total = f"`({freed.other} + {second}).backward()`"
    fix = f"Add the losses and call backward once, {total} in place of both calls"
    fix += " and before any step()." if freed.stepped else f"; or {change}."
    return Blame(
        f"{_call(crash)} goes through a graph that the backward of `{freed.other}` at "
        f"{place_text(freed.first)} has "
        f"freed: {shares}.",
        _WHY + "Two losses that share a part of the graph share it for one backward.",
        fix,
        freed.first,
        _evidence(crash, freed),
        0.96,
        None if freed.stepped else edit,
    )


def _fed(crash: CrashFact, freed: FreedGraph) -> Blame:
    """A generator's output given to the critic with its graph."""
    code = freed.made.code or ""
    place = freed.made if freed.made.file else freed.first
    cut = re.sub(rf"\b{re.escape(freed.name)}\b(?!\s*=)", f"{freed.name}.detach()", code)
    edit = rewritten(freed.made, code, cut) if freed.made.file else None
    write = (
        f"write `{one_line(cut)}` at {place_text(freed.made)}" if edit else f"use `{freed.name}.detach()` in it"
    )
    return Blame(
        f"{_call(crash)} goes through the graph of `{freed.name}`, which the backward of `{freed.other}` at "
        f"{place_text(freed.first)} has freed.",
        _WHY + f"`{freed.other}` does not train what makes `{freed.name}`, yet its backward ran through it.",
        f"Give the first loss `{freed.name}` without its graph: {write}.",
        place,
        _evidence(crash, freed),
        0.95,
        edit,
    )


def _carried(crash: CrashFact, freed: FreedGraph) -> Blame | None:
    if freed.carried is None:
        return None
    change = carried_change(freed.carried)
    return Blame(
        f"{_call(crash)} reaches back into the graph of the round before, which is freed: `{freed.name}` "
        f"is kept at "
        f"{place_text(freed.made)} with its graph.",
        _WHY + "A state that is carried on must be cut from the steps that made it, or each backward goes back "
        "to the first one.",
        change.text,
        change.where,
        _evidence(crash, freed),
        0.95,
        change.edit,
    )


def _accumulated(crash: CrashFact, freed: FreedGraph) -> Blame:
    place, edit, fix = (
        crash.place,
        None,
        f"Start `{freed.name}` anew in each round, before anything is added to it.",
    )
    frame = user_frame(crash)
    if freed.other.isidentifier() and frame is not None:
        whole = Place(frame.file, frame.code_line or frame.line, None, frame.code)
        called = f"{freed.name}.backward("
        edit = rewritten(whole, called, f"{freed.other}.backward(")
        fix = (
            f"Call backward on the new part: write `{freed.other}.backward(...)` instead of `{called}...)` at "
            f"{place_text(place)}, and add `{freed.other}.item()` to `{freed.name}`."
        ).replace("(...)", "()")
    return Blame(
        f"{_call(crash)} goes through the losses of earlier rounds again: `{freed.name}` adds them up at "
        f"{place_text(freed.made)}, and their graphs are freed.",
        _WHY + f"`{freed.name}` holds the graphs of all rounds so far.",
        fix,
        place,
        _evidence(crash, freed),
        0.96,
        edit,
    )


def _made_before(crash: CrashFact, freed: FreedGraph) -> Blame:
    return Blame(
        f"{_call(crash)} goes through the graph of `{freed.name}` again: it is computed once, at "
        f"{place_text(freed.made)}, before the loop, and the first round has freed its graph.",
        _WHY + f"`{freed.name}` also stays as the first weights made it while they are trained.",
        f"Move `{_short(freed.made)}` into the loop; or use `{freed.name}.detach()` if what makes it is "
        f"not to be "
        "trained.",
        freed.made,
        _evidence(crash, freed),
        0.93,
    )


def _cached(crash: CrashFact, freed: FreedGraph) -> Blame:
    return Blame(
        f"{_call(crash)} goes through the graph of `{freed.name}` again: it is computed once, at "
        f"{place_text(freed.made)}, and kept with its graph, which an earlier backward has freed.",
        _WHY + f"`{freed.name}` also stays as the first weights made it while they are trained.",
        f"Compute it in every forward, without the test around {place_text(freed.made)}; or keep its "
        "`.detach()` if what makes it is not to be trained.",
        freed.made,
        _evidence(crash, freed),
        0.93,
    )


def _short(place: Place) -> str:
    return one_line(place.code or "").split("\n")[0]


_TELLERS = {
    "again": _again,
    "repeated": _repeated,
    "shared": _shared,
    "fed": _fed,
    "carried": _carried,
    "accumulated": _accumulated,
    "made-before": _made_before,
    "cached": _cached,
}
