"""TD954: an optimizer refuses its parameters or settings."""

from __future__ import annotations

import re

from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, as_sentence, line_text, place_text, user_frame
from torch_debugger.checks.crashes.user_code import (
    Change,
    edited_place,
    line_edit,
    line_replaced,
    respelled,
    statement_place,
    written,
)
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash_modules import OptimizerRefusal, StrayFact

# An optimizer that was given a model, names, modules, shared or bent parameters instead of parameters.
_WHY = "An optimizer takes the parameters themselves: an iterable of tensors, or of dicts that hold one under 'params'."


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
    explain = {
        "not a leaf": _bent, "shared": _shared, "no params": _no_params, "added": _added, "two models": _two_models,
    }.get(fact.fault, _written_otherwise)  # fmt: skip
    return explain(crash, fact)


def _written_otherwise(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str] | None:
    """Faults that are cured by writing the argument in another way."""
    place = statement_place(crash)
    line = place_text(place)
    text = written(place, fact.argument) or fact.argument
    given = f"{fact.kind} was given `{text}`"
    group = f"parameter group {fact.groups[0]}" if fact.groups else "a parameter group"
    built = fact.argument.replace("(", "(model.parameters(), ", 1).replace(", )", ")")
    names = ", ".join(map(repr, fact.names[:3]))
    # what is wrong, and how to write the argument
    messages: dict[str, tuple[str, str | None]] = {
        "model": (f"{given}, {a_kind(fact.given)}, instead of its parameters.", f"{text}.parameters()"),
        "method": (f"{given}: the method itself, which was not called.", f"{text}()"),
        "tensor": (f"{given}, one tensor, where it takes a list of them.", f"[{text}]"),
        "names": (f"{given}, which holds names ({names}) and no parameters.", _without_names(text)),
        "no dict": (
            f"`add_param_group` was given `{text}`, {a_kind(fact.given)}, where it takes a dict.",
            f'{{"params": {text}}}',
        ),
        "generators": (f"{given}: a list of generators, and no list of parameters.", _starred(text)),
        "modules": (f"{given}: a list that holds modules ({fact.given}), and no parameters.", _parameters_of(text)),
        "groups": (f"{given}, and LBFGS takes no parameter groups.", None),
    }
    # what is wrong, and what to do
    advice = {
        "set": (
            f"{given}: {group} is a set, which has no order.",
            f"make it a list: `list(...)` instead of a set, at {line}",
        ),
        "missing": (
            f"`{fact.argument}` builds {fact.kind} without any parameters.",
            f"give it the model's parameters first: `{built}`",
        ),
        "required": (
            f"{given}: {group} has no `{fact.given}`, and there is none for all groups.",
            f"give `{fact.given}=` in the group or behind the groups, at {line}",
        ),
    }
    if fact.fault in advice:
        message, text = advice[fact.fault]
        return message, Change(text, None, place), ""
    if fact.fault not in messages:
        return None
    message, after = messages[fact.fault]
    change = Change(f"give it the parameters: `model.parameters()` at {line}", None, place)
    return message, respelled(place, fact.argument, after) if after is not None else change, ""


def _without_names(text: str) -> str | None:
    """dict(model.named_parameters()) -> model.parameters(); also of state_dict()."""
    found = re.fullmatch(r"(?:dict\(|list\()?([\w.\[\]]+)\.(?:named_parameters|state_dict)\(\)(?:\.keys\(\))?\)?", text)
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
    message = f"{fact.kind} was given {name}, which is the result of a computation ({fact.given}){made}, and no leaf."
    why = (
        "Only leaves keep their gradient and can be updated. `requires_grad=True` belongs on the finished tensor: any "
        "operation after it, also `.to(device)`, makes a new one that is computed."
    )
    code = fact.origin.code or ""
    target, equals, value = code.partition(" = ")
    if not equals or not fact.origin.file:
        return (
            message,
            Change(f"detach {name} before the optimizer is built: `.detach().requires_grad_()`", None, crash.place),
            why,
        )
    inner = value if re.fullmatch(r"[\w.]+\(.*\)(\.\w+\(.*\))*", value) and " * " not in value else f"({value})"
    after = f"{target} = {inner}.detach().requires_grad_()"
    text = f"write `{after}` at {place_text(fact.origin)}"
    return message, Change(text, line_edit(fact.origin, code, after), fact.origin), why


def _shared(crash: CrashFact, fact: OptimizerRefusal) -> tuple[str, Change, str]:
    names = ", ".join(f"`{name}`" for name in fact.names[:3]) + (", ..." if len(fact.names) > 3 else "")
    told = f": {names} of `{fact.model}`" if fact.names else ""
    message = f"{fact.parameters} parameters stand in group {fact.groups[0]} and in group {fact.groups[-1]}{told}."
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
    wrong = next((name for name in fact.names if name.startswith("param") or name in ("parameters", "weights")), "")
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


# Settings an optimizer refuses, arguments in the wrong order, and closures that are none.
_RULES = {
    "lr": "the learning rate is a number of at least 0",
    "eps": "`eps` is a small positive number",
    "weight_decay": "weight decay is a number of at least 0",
    "momentum": "momentum is a number of at least 0",
    "betas": "`betas` are two numbers from 0 up to, not including, 1",
    "nesterov": "Nesterov needs a momentum above 0 and no dampening",
}


def explain_optimizer_setting(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.optimizer if crash.evidence.building is not None else None
    if fact is None:
        return None
    if fact.fault.startswith("closure"):
        return _closure(crash, fact)
    if fact.fault == "order":
        return _order(crash, fact)
    if fact.fault in ("text", "negative", "not two", "out of range", "nesterov"):
        return _setting(crash, fact, fact.names[0])
    return None


def _blame(crash: CrashFact, message: str, why: str, change: Change) -> Blame:
    where = edited_place(crash, change)
    return Blame(message, why, as_sentence(change.text), where, {"line": line_text(crash.place)}, 0.97, change.edit)


def _setting(crash: CrashFact, fact: OptimizerRefusal, name: str) -> Blame:
    rule = _RULES.get(name, f"`{name}` is a number of at least 0")
    kind = " (text)" if fact.fault == "text" else ""
    message = f"{fact.kind} was built with {name} = {fact.given}{kind}: {rule}."
    why = f"{rule[0].upper()}{rule[1:]}; {fact.kind} checks that before anything is trained."
    if fact.fault == "text":
        why = "YAML reads 1e-3 as text because the dot is missing, and so does every value taken from a text file."
    place = statement_place(crash)
    after = _better(fact, written(place, fact.argument) or fact.argument)
    if after is None or not fact.argument:
        return _blame(crash, message, why, Change(f"give another {name} at {place_text(place)}", None, crash.place))
    keyword = f"{name}={written(place, fact.argument) or fact.argument}"
    return _blame(crash, message, why, _in_keyword(place, keyword, f"{name}={after}"))


def _in_keyword(place: Place, before: str, after: str) -> Change:
    code = place.code or ""
    text = f"write `{after}` instead of `{before}` at {place_text(place)}"
    if code.count(before) != 1 or place.file is None or place.line is None:
        return Change(text, None, place)
    lines = code.split("\n")
    index = next(number for number, line in enumerate(lines) if before in line)
    edit = Edit(place.file, place.line + index, lines[index], lines[index].replace(before, after))
    return Change(text, edit, place)


def _better(fact: OptimizerRefusal, text: str) -> str | None:
    if fact.fault == "text":
        return f"float({text})"
    if fact.fault == "negative":
        return text.removeprefix("-") if re.fullmatch(r"-[\d.e-]+", text) else None
    if fact.fault == "not two":
        return f"({fact.given}, 0.999)" if re.fullmatch(r"0?\.\d+", fact.given) else None
    if fact.fault == "out of range":
        numbers = re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", text)
        fixed = [
            number if 0 <= float(number) < 1 else default
            for number, default in zip(numbers, ("0.9", "0.999"), strict=False)
        ]
        return f"({', '.join(fixed)})" if len(fixed) == 2 else None
    return "False" if fact.fault == "nesterov" else None


def _order(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    place = statement_place(crash)
    found = re.fullmatch(r"([\w.]+)\(([\w.e-]+), ([\w.]+\.parameters\(\))\)", fact.argument)
    message = f"{fact.kind} was given the learning rate first and the parameters second."
    why = "The parameters are an optimizer's first argument; the learning rate is its second, best given as `lr=`."
    if found is None:
        change = Change(f"swap the two at {place_text(place)}", None, place)
    else:
        change = respelled(place, fact.argument, f"{found[1]}({found[3]}, lr={found[2]})")
    return _blame(crash, message, why, change)


def _closure(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    place = statement_place(crash)
    frame = user_frame(crash)
    owner = re.match(r"[\w.]+(?=\.step\()", (place.code or "").split("=")[-1].strip())
    name = owner[0] if owner else "optimizer"
    why = f"{fact.kind} calls the closure to compute the loss, for some steps several times; it must return the loss."
    if fact.fault == "closure returns nothing":
        return _returns_nothing(crash, fact, why)
    if fact.fault == "closure called":
        message = f"`{name}.step` was given what `{fact.argument}` returned, and no function."
        return _blame(crash, message, why, respelled(place, fact.argument, fact.argument.partition("(")[0]))
    if fact.kind != "LBFGS":
        message = f"`{name}.step` was given `{fact.argument}`, a tensor: it takes no loss."
        why = (
            "An optimizer reads the gradients that `backward()` left in the "
            "parameters; the loss itself is of no use to it."
        )
        return _blame(crash, message, why, respelled(place, f"{name}.step({fact.argument})", f"{name}.step()"))
    given = f"`{fact.argument}`, a tensor," if fact.argument else "nothing"
    message = f"`{name}.step` of LBFGS was given {given} and needs a closure: a function that computes the loss."
    text = (
        f"put `{name}.zero_grad()`, the loss and its `backward()` into `def closure():`, return the loss from it, and "
        f"call `{name}.step(closure)`"
    )
    where = Place(crash.place.file, crash.place.line, crash.place.module, frame.code if frame else crash.place.code)
    return _blame(crash, message, why, Change(text, None, where))


def _returns_nothing(crash: CrashFact, fact: OptimizerRefusal, why: str) -> Blame:
    message = f"The closure `{fact.given}` given to {fact.kind} returns nothing: it has no `return`."
    code = fact.origin.code or ""
    loss = re.fullmatch(r"([A-Za-z_]\w*)\.backward\(\)", code)
    name = loss[1] if loss else "loss"
    edit = Edit(fact.origin.file or "", fact.origin.line or 0, code, f"{code}\nreturn {name}") if loss else None
    return _blame(
        crash, message, why, Change(f"write `return {name}` after {line_text(fact.origin)}", edit, fact.origin)
    )


class ParameterGroups(CrashCheck):
    """An optimizer was given something else than parameters, the same ones twice, or a setting it refuses.

    Symptom:
        "'Net' object is not iterable", "can't optimize a non-leaf Tensor", "some parameters appear in more than
        one parameter group", "optimizer can only optimize Tensors", "Invalid learning rate", "step() missing 1
        required positional argument: 'closure'".
    Evidence:
        What the optimizer's frames hold: the argument itself, its groups, the parameters by identity and by the
        name the model has for them, the settings. The line that made a tensor that is no leaf.
    Fix:
        The argument written as it should be: `model.parameters()`, a list, one group for each parameter.
    Known limits:
        A setting is judged by torch's own rules only; a learning rate that is merely too high crashes nothing.
    """

    id = "TD954"
    name = "parameter-groups"
    title = "an optimizer refuses its parameters or settings"
    explainers = explain_optimizer_argument, explain_optimizer_setting


# An optimizer that got no parameters: used up, frozen, kept in a plain list, or none at all.
_HOLDERS = {"list": "ModuleList", "tuple": "ModuleList", "dict": "ModuleDict"}


def explain_empty_parameters(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.optimizer if crash.evidence.building is not None else None
    explain = {"used up": _used_up, "frozen": _frozen, "strays": _strays, "nothing": _nothing}
    return explain[fact.fault](crash, fact) if fact is not None and fact.fault in explain else None


def _empty_blame(
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
        f"{fact.kind} got nothing: `{fact.argument}` is a generator, `{fact.given}`, that something else has run "
        f"through already{used}."
    )
    why = f"A generator can be run through once. `{fact.model}` does have {fact.parameters} parameters."
    fix = f"Keep them in a list: `{fact.argument} = list({fact.given})` at {place_text(fact.origin)}."
    return _empty_blame(
        crash, fact, message, why, fix, fact.origin, line_edit(fact.origin, fact.given, f"list({fact.given})")
    )


def _frozen(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    line = f", set at {place_text(fact.origin)}" if fact.origin.file else ""
    message = (
        f"{fact.kind} got nothing: all {fact.parameters} parameters of `{fact.model}` ({fact.given}) are frozen, "
        f"requires_grad is False{line}, and the optimizer was given only those that are not."
    )
    why = "`parameters()` of a model are those of all its parts: freezing them all leaves nothing to train."
    head = f"{fact.model}.{fact.names[-1]}" if fact.names else fact.model
    fix = (
        "Freeze only what is to stay as it is, or make the rest trainable again before the optimizer is built: "
        f"`{head}.requires_grad_(True)`."
    )
    return _empty_blame(crash, fact, message, why, fix, fact.origin, None)


def _strays(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    stray = fact.strays[0]
    if stray.container == "tensor":
        return _plain_tensor(crash, fact, stray)
    holder = _HOLDERS.get(stray.container, "ModuleList")
    message = (
        f"{fact.kind} got nothing: `{fact.model}` ({fact.given}) keeps its layers in a plain {stray.container}, "
        f"`self.{stray.attribute}` ({', '.join(stray.kinds)}), where it does not look for parameters."
    )
    why = f"A module finds its children by its attributes; it does not look into a {stray.container}."
    literal = re.fullmatch(rf"(self\.{stray.attribute} = )([\[({{].*[\])}}])", stray.place.code or "")
    inside = literal[2] if literal and literal[2] not in ("[]", "{}", "()") else ""
    edit = line_replaced(stray.place, f"{literal[1]}nn.{holder}({inside})") if literal else None
    fix = f"Make `self.{stray.attribute}` an `nn.{holder}` at {place_text(stray.place)}."
    return _empty_blame(crash, fact, message, why, fix, stray.place, edit)


def _plain_tensor(crash: CrashFact, fact: OptimizerRefusal, stray: StrayFact) -> Blame:
    message = (
        f"{fact.kind} got nothing: `self.{stray.attribute}` of `{fact.model}` ({fact.given}) is a plain tensor that "
        "requires grad, not a parameter."
    )
    why = "Only an `nn.Parameter` that is assigned to a module is found by `parameters()`."
    target, equals, value = (stray.place.code or "").partition(" = ")
    plain = re.sub(r",\s*requires_grad=True", "", value)
    edit = line_replaced(stray.place, f"{target} = nn.Parameter({plain})") if equals else None
    fix = f"Wrap it in `nn.Parameter(...)` at {place_text(stray.place)}."
    return _empty_blame(crash, fact, message, why, fix, stray.place, edit)


def _nothing(crash: CrashFact, fact: OptimizerRefusal) -> Blame:
    message = f"{fact.kind} got nothing: `{fact.model}` ({fact.given}) has no parameters at all."
    why = (
        "Activations, pooling, flattening and losses have nothing to train, and layers of a function belong to nobody."
    )
    fix = f"Give `{fact.model}` layers with weights as attributes, or build the optimizer from the model that has them."
    return _empty_blame(crash, fact, message, why, fix, crash.place, None)


class EmptyParameterList(CrashCheck):
    """An optimizer was built from no parameters at all.

    Symptom:
        "optimizer got an empty parameter list".
    Evidence:
        The argument on your line and the model it names: how many parameters that has, how many of them are
        trainable, which layers it keeps in plain lists, and whether a generator was used up before.
    Fix:
        `nn.ModuleList` for layers in a list, `list(model.parameters())` for what is read twice, or make the
        part to train trainable.
    Known limits:
        The model must be named in the argument, or in the line that made the variable that is the argument.
    """

    id = "TD953"
    name = "empty-parameter-list"
    title = "an optimizer got no parameters"
    explainers = (explain_empty_parameters,)
