"""Names under which a module cannot take anything: in use, with a dot, or no text."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import rewritten
from torch_debugger.checks.explainers.respelling import Told, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, Edit
from torch_debugger.records.evidence.building import RegistrationRefusal


def _swap(crash: CrashFact, before: str, after: str) -> Change:
    place = statement_place(crash)
    return Change(
        f"write `{after}` instead of `{before}` at {place_text(place)}", rewritten(place, before, after), place
    )


def explain_taken(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    line = f", assigned at {place_text(fact.place)}" if fact.place.file else ""
    kind = fact.held.partition(" ")[0]
    held = "a method of it" if kind == "function" else f"a {kind}{line}"
    message = f"The name `{fact.name}` is taken in `{fact.owner}`: it is {held}."
    why = "A module, parameter or buffer is an attribute of its owner, so its name must not be in use."
    place = statement_place(crash)
    assigned = fact.place.code or ""
    if (
        kind != "function"
        and fact.place.file
        and fact.place.line
        and assigned.startswith(f"self.{fact.name} = ")
    ):
        in_use = f"self.{fact.name}" in (place.code or "")
        edit = None if in_use else Edit(fact.place.file, fact.place.line, assigned, "")
        text = f"register it only once: take `{assigned}` at {place_text(fact.place)} out"
        return message, Change(text, edit, fact.place), why
    new = f"{fact.name}_"
    for quote in ("'", '"'):
        before = f"{quote}{fact.name}{quote}"
        if (place.code or "").count(before) == 1:
            return message, _swap(crash, before, f"{quote}{new}{quote}"), why
    return (
        message,
        Change(f"choose another name, `{new}` for example, at {place_text(place)}", None, place),
        why,
    )


def explain_dotted(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    message = (
        f"`{fact.name}` cannot be the name of a {fact.role}: it holds a dot."
        if fact.name
        else "An empty name was given."
    )
    why = "Dots separate the levels of a model, as in `encoder.0.weight`; a single name has none."
    new = fact.name.replace(".", "_")
    place = statement_place(crash)
    for quote in ("'", '"'):
        before = f"{quote}{fact.name}{quote}"
        if fact.name and (place.code or "").count(before) == 1:
            return message, _swap(crash, before, f"{quote}{new}{quote}"), why
    return (
        message,
        Change(f"write the name without dots, `{new or 'layer'}`, at {place_text(place)}", None, place),
        why,
    )


def explain_not_a_name(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    holder = f"nn.{fact.function}" if fact.function == "ModuleDict" else fact.function
    message = f"`{holder}` was given {fact.name}, of type {fact.given}, as a name, which must be text."
    place = statement_place(crash)
    before, after = f"{fact.name}:", f'"{fact.name}":'
    if fact.function == "ModuleDict" and (place.code or "").count(before) == 1:
        return message, _swap(crash, before, after), "The key becomes part of the parameters' names."
    return (
        message,
        Change(f"make it text: `str(...)`, at {place_text(place)}", None, place),
        "The name becomes part of the parameters' names.",
    )
