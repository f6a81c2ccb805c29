"""An optimizer that was given a model, names, modules, shared or bent parameters instead of parameters."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.respelling import (
    edited_place,
    line_edit,
    respelled,
    statement_place,
    written,
)
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import a_kind, as_sentence
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.building import OptimizerRefusal

_WHY = (
    "An optimizer takes the parameters themselves: an iterable of tensors, "
    "or of dicts that hold one under 'params'."
)


def explain_optimizer_argument(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.optimizer if crash.evidence.building is not None else None
    told = _told(crash, fact) if fact is not None else None
    if fact is None or told is None:
        return None
    message, change, why = told
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.argument:
        evidence["given"] = fact.argument
    if fact.names and fact.fault == "shared":
        evidence["parameters"] = ", ".join(fact.names[:6])
    where = edited_place(crash, change)
    return Blame(message, why or _WHY, as_sentence(change.text), where, evidence, 0.97, change.edit)


def _told(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str] | None:
    simple = _simple(crash, fact)
    if simple is not None:
        return *simple, ""
    others = {
        "not a leaf": _bent,
        "shared": _shared,
        "no params": _no_params,
        "added": _added,
        "two models": _two_models,
    }
    return others[fact.fault](crash, fact) if fact.fault in others else None


def _simple(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change] | None:
    """Faults that are cured by writing the argument in another way."""
    place = statement_place(crash)
    text = written(place, fact.argument) or fact.argument
    given = f"{fact.kind} was given `{text}`"
    group = f"parameter group {fact.groups[0]}" if fact.groups else "a parameter group"
    after = {
        "model": f"{text}.parameters()",
        "method": f"{text}()",
        "tensor": f"[{text}]",
        "names": _without_names(text),
        "no dict": f'{{"params": {text}}}',
        "generators": _starred(text),
        "modules": _parameters_of(text),
        "groups": "model.parameters()",
    }.get(fact.fault)
    message = {
        "model": f"{given}, {a_kind(fact.given)}, instead of its parameters.",
        "method": f"{given}: the method itself, which was not called.",
        "tensor": f"{given}, one tensor, where it takes a list of them.",
        "names": f"{given}, which holds names ({', '.join(map(repr, fact.names[:3]))}) and no parameters.",
        "no dict": f"`add_param_group` was given `{text}`, {a_kind(fact.given)}, where it takes a dict.",
        "generators": f"{given}: a list of generators, and no list of parameters.",
        "modules": f"{given}: a list that holds modules ({fact.given}), and no parameters.",
        "groups": f"{given}, and LBFGS takes no parameter groups.",
        "set": f"{given}: {group} is a set, which has no order.",
        "missing": f"`{fact.argument}` builds {fact.kind} without any parameters.",
        "required": f"{given}: {group} has no `{fact.given}`, and there is none for all groups.",
    }.get(fact.fault)
    if message is None:
        return None
    return message, _change(crash, place, fact, after)


def _change(crash: CrashFact, place: Place, fact: OptimizerRefusal, after: str | None) -> Change:
    if fact.fault == "set":
        return Change(f"make it a list: `list(...)` instead of a set, at {place_text(place)}", None, place)
    if fact.fault == "missing":
        changed = fact.argument.replace("(", "(model.parameters(), ", 1).replace(", )", ")")
        return Change(f"give it the model's parameters first: `{changed}`", None, place)
    if fact.fault == "required":
        return Change(
            f"give `{fact.given}=` in the group or behind the groups, at {place_text(place)}", None, place
        )
    if after is None or fact.fault == "groups":
        return Change(f"give it the parameters: `model.parameters()` at {place_text(place)}", None, place)
    return respelled(place, fact.argument, after)


def _without_names(text: str) -> str | None:
    """dict(model.named_parameters()) -> model.parameters(); also of state_dict()."""
    found = re.fullmatch(
        r"(?:dict\(|list\()?([\w.\[\]]+)\.(?:named_parameters|state_dict)\(\)(?:\.keys\(\))?\)?", text
    )
    if found:
        return f"{found[1]}.parameters()"
    return f"{text}.values()" if text.isidentifier() else None


def _starred(text: str) -> str | None:
    """[a.parameters(), b.parameters()] -> [*a.parameters(), *b.parameters()]"""
    if not text.startswith("[") or "*" in text or "," not in text:
        return f"{text[1:-1]}" if re.fullmatch(r"\[[\w.\[\]]+\.parameters\(\)\]", text) else None
    return re.sub(r"(?<=[\[ ,])([\w.\[\]]+?\.parameters\(\))", r"*\1", text)


def _parameters_of(text: str) -> str | None:
    if re.fullmatch(r"\[[\w.\[\]]+\]", text):
        return f"{text[1:-1]}.parameters()"
    if text.startswith("[") and re.fullmatch(r"\[[\w.\[\], ]+\]", text):
        return f"[*{', *'.join(f'{name.strip()}.parameters()' for name in text[1:-1].split(','))}]"
    return f"[p for module in {text} for p in module.parameters()]" if text.isidentifier() else None


def _bent(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str]:
    name = f"`{fact.names[0]}`" if fact.names else "one of the tensors"
    made = f", made by `{fact.origin.code}` at {place_text(fact.origin)}" if fact.origin.file else ""
    message = (
        f"{fact.kind} was given {name}, which is the result of a computation ({fact.given}){made}, and no leaf."
    )
    why = (
        "Only leaves keep their gradient and can be updated. `requires_grad=True` "
        "belongs on the finished tensor: "
        "any operation after it, also `.to(device)`, makes a new one that is computed."
    )
    code = fact.origin.code or ""
    target, equals, value = code.partition(" = ")
    if not equals or not fact.origin.file:
        return (
            message,
            Change(
                f"detach {name} before the optimizer is built: `.detach().requires_grad_()`", None, crash.place
            ),
            why,
        )
    inner = value if re.fullmatch(r"[\w.]+\(.*\)(\.\w+\(.*\))*", value) and " * " not in value else f"({value})"
    after = f"{target} = {inner}.detach().requires_grad_()"
    text = f"write `{after}` at {place_text(fact.origin)}"
    return message, Change(text, line_edit(fact.origin, code, after), fact.origin), why


def _shared(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str]:
    names = ", ".join(f"`{name}`" for name in fact.names[:3]) + (", ..." if len(fact.names) > 3 else "")
    told = f": {names} of `{fact.model}`" if fact.names else ""
    message = (
        f"{fact.parameters} parameters stand in group {fact.groups[0]} and in group {fact.groups[-1]}{told}."
    )
    why = "Each parameter belongs to one group: two learning rates for one parameter have no meaning."
    start = _common_start(fact.names)
    if not start or not fact.model:
        return message, Change("leave them out of one of the two groups", None, crash.place), why
    before = f"{fact.model}.parameters()"
    after = f'[p for n, p in {fact.model}.named_parameters() if not n.startswith("{start}")]'
    place = statement_place(crash)
    change = respelled(place, before, after)
    if change.edit is None:
        return message, Change(f"leave them out of the first group: `{after}`", None, crash.place), why
    return message, change, why


def _common_start(names: tuple[str, ...]) -> str:
    """fc. for fc.weight and fc.bias"""
    heads = {name.rpartition(".")[0] for name in names}
    return f"{next(iter(heads))}." if len(heads) == 1 and "" not in heads else ""


def _no_params(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str]:
    keys = ", ".join(map(repr, fact.names))
    message = f"Parameter group {fact.groups[0]} of {fact.kind} has no entry 'params'; its keys are {keys}."
    place = statement_place(crash)
    wrong = next(
        (name for name in fact.names if name.startswith("param") or name in ("parameters", "weights")), ""
    )
    if not wrong:
        return message, Change("put the parameters under the key 'params'", None, crash.place), ""
    for quote in ("'", '"'):
        edit = (
            line_edit(place, f"{quote}{wrong}{quote}", f"{quote}params{quote}")
            if "\n" not in (place.code or "")
            else None
        )
        if edit is not None:
            break
    return message, Change(f"write 'params' instead of {wrong!r} at {place_text(place)}", edit, place), ""


def _added(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str]:
    place = statement_place(crash)
    text = written(place, fact.argument) or fact.argument
    message = f"`{text}` adds two generators, which Python cannot do."
    first, second = (part.strip() for part in text.split("+", 1))
    why = "`parameters()` gives a generator; lists can be added, generators cannot."
    return message, respelled(place, fact.argument, f"list({first}) + list({second})"), why


def _two_models(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str] | None:
    place = statement_place(crash)
    found = re.fullmatch(r"([\w.]+)\(([\w.]+\.parameters\(\)), ([\w.]+\.parameters\(\))(.*)\)", fact.argument)
    if found is None:
        return None
    message = f"{fact.kind} was given {found[3]} as its second argument, which is the learning rate."
    after = f"{found[1]}([*{found[2]}, *{found[3]}]{found[4]})"
    return message, respelled(place, fact.argument, after), ""
