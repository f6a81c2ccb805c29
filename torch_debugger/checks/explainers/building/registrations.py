"""Something a module cannot take: a list, a function, a class, a plain tensor, a name that is in use."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.building.container_entries import (
    explain_entry,
    explain_no_list,
    explain_several,
)
from torch_debugger.checks.explainers.building.registered_names import (
    explain_dotted,
    explain_not_a_name,
    explain_taken,
)
from torch_debugger.checks.explainers.calls import argument_of, calls_of, rewritten
from torch_debugger.checks.explainers.respelling import Told, edited_place, line_edit, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import a_kind, as_sentence
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import RegistrationRefusal

_WHY = {
    "module": "A module keeps its children by name and moves, saves and "
    "trains them; only modules can be children.",
    "parameter": "A name that stands for a parameter can only hold an `nn.Parameter`, or None.",
    "buffer": "A buffer is a tensor that is saved and moved with the module; "
    "the name can hold a tensor or None.",
}


def explain_registration(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.registration if crash.evidence.building is not None else None
    if fact is None:
        return None
    in_container = fact.function in ("Sequential", "ModuleList", "ModuleDict", "add_module")
    explain = {
        "several": explain_several,
        "no list": explain_no_list,
        "taken": explain_taken,
        "dot": explain_dotted,
        "not a name": explain_not_a_name,
        "whole numbers": _whole_numbers,
        "no tensor": _no_tensor,
        "no module": _no_module,
        "kind": explain_entry if in_container else _kind,
    }[fact.fault]
    message, change, why = explain(crash, fact)
    where = edited_place(crash, change)
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.given:
        evidence["given"] = fact.given
    if fact.place.file and fact.place.line != crash.place.line:
        evidence["name made at"] = line_text(fact.place)
    return Blame(message, why or _WHY[fact.role], as_sentence(change.text), where, evidence, 0.97, change.edit)


def _kind(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    message = (
        f"`{fact.name}` of `{fact.owner}` is a {_role(fact)}, and {a_kind(fact.given)} was assigned to it."
    )
    place = statement_place(crash)
    if fact.role == "module":
        return message, *_over_a_layer(crash, place, fact)
    wrapper = "nn.Parameter" if fact.role == "parameter" and fact.given == "Tensor" else "torch.tensor"
    code = place.code or ""
    target, equals, value = code.partition(" = ")
    if fact.function == "__setattr__" and equals and "\n" not in code and place.file and place.line:
        edit = Edit(place.file, place.line, code, f"{target} = {wrapper}({value})")
        return message, Change(f"write `{edit.after}` at {place_text(place)}", edit, place), ""
    wrapped = (
        _wrapped(place, fact.function, wrapper) if fact.given in ("Tensor", "float", "int", "list") else None
    )
    return message, Change(f"wrap it: `{wrapper}(...)` at {place_text(place)}", wrapped, place), ""


def _over_a_layer(crash: CrashFact, place: Place, fact: RegistrationRefusal) -> tuple[Change, str]:
    """self.fc = self.fc(x) in a forward"""
    value = (place.code or "").partition(" = ")[2] or "..."
    local = fact.name if fact.name != "x" else "out"
    text = (
        f"keep the result in a local variable, `{local} = {value}`, and leave `self.{fact.name}` to the layer"
    )
    made = f" at {place_text(fact.place)}" if fact.place.file else ""
    why = f"`self.{fact.name}` was made a layer ({fact.held}){made}; a result must not take its place."
    return Change(text, None, place), why


def _role(fact: RegistrationRefusal) -> str:
    return f"layer ({fact.held})" if fact.role == "module" and fact.held else fact.role


def _wrapped(place: Place, function: str, wrapper: str) -> Edit | None:
    calls = calls_of(place.code or "", function)
    argument = argument_of(calls[0], 1, "") if len(calls) == 1 else None
    return (
        rewritten(place, argument.call, argument.replaced(f"{wrapper}({argument.text})")) if argument else None
    )


def _whole_numbers(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    place = statement_place(crash)
    message = f"`nn.Parameter` was given a tensor of whole numbers ({fact.given}), which has no gradient."
    calls = calls_of(place.code or "", "Parameter")
    argument = argument_of(calls[0], 0, "data") if len(calls) == 1 else None
    why = "A parameter is trained by its gradient, and only floating point tensors have one."
    if argument is None:
        return message, Change(f"make it floating point: `.float()` at {place_text(place)}", None, place), why
    changed = argument.replaced(f"{argument.text}.float()")
    return (
        message,
        Change(f"write `{changed}` at {place_text(place)}", rewritten(place, argument.call, changed), place),
        why,
    )


def _no_tensor(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    place = statement_place(crash)
    message = f"`nn.Parameter` was given {a_kind(fact.given)} and no tensor."
    calls = calls_of(place.code or "", "Parameter")
    argument = argument_of(calls[0], 0, "data") if len(calls) == 1 else None
    pattern = "torch.from_numpy({}).float()" if fact.given == "ndarray" else "torch.tensor({})"
    if argument is None:
        return (
            message,
            Change(f"make it a tensor: `{pattern.format('...')}` at {place_text(place)}", None, place),
            "",
        )
    changed = argument.replaced(pattern.format(argument.text))
    return (
        message,
        Change(f"write `{changed}` at {place_text(place)}", rewritten(place, argument.call, changed), place),
        "",
    )


def _no_module(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    """class Net: -> class Net(nn.Module):"""
    asked = "was called" if fact.function == "a call" else f"was asked for `{fact.function}`"
    message = (
        f"An object of `{fact.name}` {asked} like a module, but the class does not derive from `nn.Module`."
    )
    why = "Being callable, `parameters()`, `to()`, `train()` and `state_dict()` all come from `nn.Module`."
    code = fact.place.code or ""
    after = f"class {fact.name}(nn.Module):"
    plain = code in (f"class {fact.name}:", f"class {fact.name}():", f"class {fact.name}(object):")
    edit = line_edit(fact.place, code, after) if plain and fact.held else None
    rest = "" if fact.held else ", and `super().__init__()` as the first line of its `__init__`"
    return message, Change(f"write `{after}` at {place_text(fact.place)}{rest}", edit, fact.place), why
