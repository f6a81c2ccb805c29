"""A module that was called and has no forward: misspelt, wrongly indented, or a list of modules."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.constructors import constructor_place
from torch_debugger.checks.explainers.respelling import line_edit, statement_place
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import ForwardFact, MethodFact

_WHY = "Calling a module runs its method `forward`; `nn.Module` itself has none that does anything."


def explain_missing_forward(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.forward if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.cls in ("ModuleList", "ModuleDict"):
        return _container(crash, fact)
    if not fact.place.file:
        return None
    return (
        _blame(crash, fact, *_method(fact, fact.near)) if fact.near is not None else _none_at_all(crash, fact)
    )


def _blame(
    crash: CrashFact, fact: ForwardFact, message: str, fix: str, where: Place, edit: Edit | None
) -> Blame:
    evidence: dict[str, float | str] = {"class": line_text(fact.place), "call": line_text(crash.place)}
    return Blame(message, _WHY, fix, where, evidence, 0.98, edit)


def _name(fact: ForwardFact) -> str:
    return f"`{fact.path}` ({fact.cls})" if fact.path else f"`{fact.cls}`"


def _method(fact: ForwardFact, near: MethodFact) -> tuple[str, str, Place, Edit | None]:
    line = place_text(near.place)
    if near.inside == "<module>":
        message = f"{_name(fact)} has no `forward`: the one at {line} stands outside of the class."
        return (
            message,
            f"Indent `{near.place.code}` and its body by one level, into the class.",
            near.place,
            None,
        )
    if near.inside:
        message = f"{_name(fact)} has no `forward`: the one at {line} stands inside `{near.inside}`."
        fix = f"Move `{near.place.code}` and its body one level out, beside `def {near.inside}`."
        return message, fix, near.place, None
    message = f"{_name(fact)} has no `forward`; it has a method `{near.name}` at {line}."
    edit = line_edit(near.place, f"{near.name}(", "forward(")
    return message, f"Rename `{near.name}` to `forward` at {line}.", near.place, edit


def _none_at_all(crash: CrashFact, fact: ForwardFact) -> Blame:
    message = f"{_name(fact)} was called but its class has no `forward`."
    fix = f"Write `def forward(self, x):` in `class {fact.cls}` at {place_text(fact.place)}."
    return _blame(crash, fact, message, fix, fact.place, None)


def _container(crash: CrashFact, fact: ForwardFact) -> Blame:
    """A list or dict of modules has no order of its own in which to run them."""
    name = f"`{fact.path}`" if fact.path else "a module"
    message = f"{name} is an `nn.{fact.cls}` of {len(fact.keys)} and was called like a layer."
    why = f"An `nn.{fact.cls}` only holds modules; it has no `forward` that runs them."
    evidence: dict[str, float | str] = {"entries": ", ".join(fact.keys), "call": line_text(crash.place)}
    if fact.cls == "ModuleDict":
        last = fact.path.rpartition(".")[2]
        written = (
            re.search(rf"[\w.]*\b{re.escape(last)}(?=\()", statement_place(crash).code or "") if last else None
        )
        told = f", as in `{written[0]}[{fact.keys[0]!r}](...)`" if written and fact.keys else ""
        fix = f"Choose the module to run by its key{told}; the keys are {', '.join(map(repr, fact.keys))}."
        return Blame(message, why, fix, crash.place, evidence, 0.97)
    place = constructor_place(crash.layer) if crash.layer is not None else Place()
    edit = rewritten(place, "nn.ModuleList([", "nn.Sequential(*[") if place.file else None
    fix = (
        "Loop over it in `forward`, or build it as `nn.Sequential(*[...])`, "
        "which runs its layers one after the other."
    )
    if edit is not None:
        fix = (
            f"Change `nn.ModuleList([` to `nn.Sequential(*[` at {place_text(place)}, "
            "or loop over it in `forward`."
        )
    where = (
        Place(place.file, place.line, place.module, (place.code or "").partition("\n")[0])
        if edit
        else crash.place
    )
    return Blame(message, why, fix, where, evidence, 0.97, edit)
