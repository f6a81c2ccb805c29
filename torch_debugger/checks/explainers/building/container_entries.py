"""What a container of modules was given and cannot hold: a list, a function, a class."""

from __future__ import annotations

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import argument_of, calls_of, rewritten
from torch_debugger.checks.explainers.respelling import Told, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import a_kind
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import RegistrationRefusal

_MODULES = {
    "relu": "nn.ReLU()", "sigmoid": "nn.Sigmoid()", "tanh": "nn.Tanh()", "gelu": "nn.GELU()", "elu": "nn.ELU()",
    "silu": "nn.SiLU()", "leaky_relu": "nn.LeakyReLU()", "softplus": "nn.Softplus()", "dropout": "nn.Dropout()",
    "flatten": "nn.Flatten()", "softmax": "nn.Softmax(dim=1)", "log_softmax": "nn.LogSoftmax(dim=1)",
}  # fmt: skip


def explain_entry(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    kind, _, name = fact.given.partition(" ")
    holder = f"nn.{fact.function}" if fact.function != "add_module" else "add_module"
    place = statement_place(crash)
    if kind == "class":
        message = f"`{holder}` was given the class `{name}` as layer {fact.name}, and not an object of it."
        return message, _built(place, name), ""
    if kind == "function":
        name = name.removeprefix("torch.")
        message = f"`{holder}` was given the function `{name}` as layer {fact.name}, and not a module."
        why = "A function has no place in a list of modules; its module form does."
        return message, _as_module(place, name), why
    if kind in ("list", "tuple", "generator") and fact.function == "Sequential":
        return _one_by_one(place, kind, fact)
    message = f"`{holder}` was given {a_kind(fact.given)} as entry {fact.name!r}, and not a module."
    return message, Change(f"give it modules only, at {place_text(place)}", None, place), ""


def _one_by_one(place: Place, kind: str, fact: RegistrationRefusal) -> Told:
    """nn.Sequential(layers) -> nn.Sequential(*layers)"""
    many = f" of {fact.size} modules" if fact.held == "modules" else ""
    message = f"`nn.Sequential` was given a {kind}{many}, where it takes the modules one by one."
    calls = calls_of(place.code or "", fact.function)
    argument = argument_of(calls[0], 0, "") if len(calls) == 1 else None
    text = f"put a star before it: `nn.Sequential(*...)` at {place_text(place)}"
    if argument is None:
        return message, Change(text, None, place), ""
    changed = argument.replaced(f"*{argument.text}")
    if kind == "generator" and argument.text.startswith("("):  # as the only argument it has no own parentheses
        changed = f"{calls[0].replace('(', '(*[', 1)[:-1]}])"
    edit = rewritten(place, argument.call, changed) or _starred(place, fact.function)
    return message, Change(text, edit, place), ""


def _starred(place: Place, function: str) -> Edit | None:
    """nn.Sequential([ -> nn.Sequential(*[, where the list spans several lines."""
    return rewritten(place, f"{function}([", f"{function}(*[")


def _built(place: Place, name: str) -> Change:
    """nn.ReLU, -> nn.ReLU(),"""
    code = place.code or ""
    found = [end for end in (",", ")", "\n") if code.count(f"{name}{end}") == 1]
    edit = rewritten(place, f"{name}{found[0]}", f"{name}(){found[0]}") if found else None
    return Change(f"write `{name}()` instead of `{name}` at {place_text(place)}", edit, place)


def _as_module(place: Place, name: str) -> Change:
    module = _MODULES.get(name)
    if module is None:
        text = (
            "write a small `nn.Module` whose `forward` calls it, or call "
            f"it in `forward`, at {place_text(place)}"
        )
        return Change(text, None, place)
    for written in (f"torch.nn.functional.{name}", f"nn.functional.{name}", f"F.{name}", f"torch.{name}"):
        if (place.code or "").count(written) == 1:
            text = f"write `{module}` instead of `{written}` at {place_text(place)}"
            return Change(text, rewritten(place, written, module), place)
    return Change(f"write `{module}` instead of `{name}` at {place_text(place)}", None, place)


def explain_several(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.function)
    message = f"`nn.{fact.function}` was given {fact.size} modules one by one, where it takes one list."
    if len(calls) != 1:
        return message, Change(f"put them into a list at {place_text(place)}", None, place), ""
    opening, _, inside = calls[0].partition("(")
    changed = f"{opening}([{inside[:-1]}])"
    return (
        message,
        Change(
            f"put them into a list: `nn.{fact.function}([...])` at {place_text(place)}",
            rewritten(place, calls[0], changed),
            place,
        ),
        "",
    )


def explain_no_list(crash: CrashFact, fact: RegistrationRefusal) -> Told:
    place = statement_place(crash)
    calls = calls_of(place.code or "", fact.function)
    argument = argument_of(calls[0], 0, "") if len(calls) == 1 else None
    message = f"`nn.{fact.function}` was given {a_kind(fact.given)}, where it takes a list of modules."
    after = argument.replaced(f"[{argument.text}]") if argument else f"nn.{fact.function}([...])"
    edit = rewritten(place, argument.call, after) if argument else None
    return message, Change(f"write `{after}` at {place_text(place)}", edit, place), ""
