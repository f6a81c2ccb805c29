"""An optimizer that got no parameters: used up, frozen, kept in a plain list, or none at all."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import line_edit
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import OptimizerRefusal, StrayFact

_HOLDERS = {"list": "ModuleList", "tuple": "ModuleList", "dict": "ModuleDict"}


def explain_empty_parameters(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.optimizer if crash.evidence.building is not None else None
    explain = {"used up": _used_up, "frozen": _frozen, "strays": _strays, "nothing": _nothing}
    return explain[fact.fault](crash, fact) if fact is not None and fact.fault in explain else None


def _blame(
    crash: CrashFact, fact: OptimizerRefusal, message: str, why: str, fix: str, where: Place, edit: Edit | None
) -> Blame:
    evidence: dict[str, float | str] = {"given": fact.argument, "line": line_text(crash.place)}
    if fact.parameters:
        evidence["parameters"] = float(fact.parameters)
        evidence["trainable"] = float(fact.trainable)
    if where.file and where.line != crash.place.line:
        evidence["cause"] = line_text(where)
    return Blame(message, why, fix, where if where.file else crash.place, evidence, 0.97, edit)


def _used_up(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    used = f", at line {fact.names[0]}" if fact.names else ""
    message = (
        f"{fact.kind} got nothing: `{fact.argument}` is a generator, "
        f"`{fact.given}`, that something else has run "
        f"through already{used}."
    )
    why = f"A generator can be run through once. `{fact.model}` does have {fact.parameters} parameters."
    fix = f"Keep them in a list: `{fact.argument} = list({fact.given})` at {place_text(fact.origin)}."
    return _blame(
        crash, fact, message, why, fix, fact.origin, line_edit(fact.origin, fact.given, f"list({fact.given})")
    )


def _frozen(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    line = f", set at {place_text(fact.origin)}" if fact.origin.file else ""
    message = (
        f"{fact.kind} got nothing: all {fact.parameters} parameters of "
        f"`{fact.model}` ({fact.given}) are frozen, "
        f"requires_grad is False{line}, and the optimizer was given only those that are not."
    )
    why = "`parameters()` of a model are those of all its parts: freezing them all leaves nothing to train."
    head = f"{fact.model}.{fact.names[-1]}" if fact.names else fact.model
    fix = (
        "Freeze only what is to stay as it is, or make the rest trainable again before the optimizer is built: "
        f"`{head}.requires_grad_(True)`."
    )
    return _blame(crash, fact, message, why, fix, fact.origin, None)


def _strays(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    stray = fact.strays[0]
    if stray.container == "tensor":
        return _plain_tensor(crash, fact, stray)
    holder = _HOLDERS.get(stray.container, "ModuleList")
    message = (
        f"{fact.kind} got nothing: `{fact.model}` ({fact.given}) keeps "
        f"its layers in a plain {stray.container}, "
        f"`self.{stray.attribute}` ({', '.join(stray.kinds)}), where it does not look for parameters."
    )
    why = f"A module finds its children by its attributes; it does not look into a {stray.container}."
    edit = _as_container(stray, holder)
    fix = f"Make `self.{stray.attribute}` an `nn.{holder}` at {place_text(stray.place)}."
    return _blame(crash, fact, message, why, fix, stray.place, edit)


def _as_container(stray: StrayFact, holder: str) -> Edit | None:
    found = re.fullmatch(rf"(self\.{stray.attribute} = )([\[({{].*[\])}}])", stray.place.code or "")
    if found is None or stray.place.file is None or stray.place.line is None:
        return None
    inside = "" if found[2] in ("[]", "{}", "()") else found[2]
    return Edit(stray.place.file, stray.place.line, stray.place.code or "", f"{found[1]}nn.{holder}({inside})")


def _plain_tensor(crash: CrashFact, fact: OptimizerRefusal, stray: StrayFact) -> Blame:
    message = (
        f"{fact.kind} got nothing: `self.{stray.attribute}` of `{fact.model}` "
        f"({fact.given}) is a plain tensor that "
        "requires grad, not a parameter."
    )
    why = "Only an `nn.Parameter` that is assigned to a module is found by `parameters()`."
    code = stray.place.code or ""
    target, equals, value = code.partition(" = ")
    edit = None
    if equals and stray.place.file and stray.place.line:
        plain = re.sub(r",\s*requires_grad=True", "", value)
        edit = Edit(stray.place.file, stray.place.line, code, f"{target} = nn.Parameter({plain})")
    fix = f"Wrap it in `nn.Parameter(...)` at {place_text(stray.place)}."
    return _blame(crash, fact, message, why, fix, stray.place, edit)


def _nothing(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    message = f"{fact.kind} got nothing: `{fact.model}` ({fact.given}) has no parameters at all."
    why = (
        "Activations, pooling, flattening and losses have nothing to train, "
        "and layers of a function belong to nobody."
    )
    fix = (
        f"Give `{fact.model}` layers with weights as attributes, or build "
        "the optimizer from the model that has them."
    )
    return _blame(crash, fact, message, why, fix, crash.place, None)
