"""TD954: an optimizer refuses its parameters or settings."""

from __future__ import annotations

import re

from torch_debugger.checks.call_edits import replace_in_line
from torch_debugger.checks.crash_check import CrashCheck
from torch_debugger.checks.crashes.explanation import Blame, a_kind, line_text, place_text, user_frame
from torch_debugger.checks.crashes.user_code import (
    Change,
    Explanation,
    line_replaced,
    respelled,
    statement_place,
    with_change,
    written,
)
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.crash_modules import OptimizerRefusal

# An optimizer that was given a model, names, modules, shared or bent parameters instead of parameters.
_WHY = "An optimizer takes the parameters themselves: an iterable of tensors, or of dicts that hold one under 'params'."


def explain_optimizer_argument(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.optimizer if crash.evidence.building is not None else None
    if fact is None:
        return None
    explain = {
        "not a leaf": _bent, "shared": _shared, "no params": _no_params, "two models": _two_models,
    }.get(fact.fault, _written_otherwise)  # fmt: skip
    told = explain(crash, fact)
    if told is None:
        return None
    message, change, why = told
    evidence: dict[str, float | str] = {"line": line_text(crash.place)}
    if fact.argument:
        evidence["given"] = fact.argument
    if fact.names and fact.fault == "shared":
        evidence["parameters"] = ", ".join(fact.names[:6])
    return with_change(crash, message, why or _WHY, change, evidence)


def _written_otherwise(crash: CrashFact, fact: OptimizerRefusal) -> Explanation | None:
    """Faults that are cured by writing the argument in another way."""
    place = statement_place(crash)
    line, why = place_text(place), ""
    text = written(place, fact.argument) or fact.argument
    given = f"{fact.kind} was given `{text}`"
    group = f"parameter group {fact.groups[0]}" if fact.groups else "a parameter group"
    after: str | None = None
    advice = f"give it the parameters: `model.parameters()` at {line}"  # where it cannot be written otherwise
    match fact.fault:
        case "model":
            message, after = f"{given}, {a_kind(fact.given)}, instead of its parameters.", f"{text}.parameters()"
        case "method":
            message, after = f"{given}: the method itself, which was not called.", f"{text}()"
        case "tensor":
            message, after = f"{given}, one tensor, where it takes a list of them.", f"[{text}]"
        case "names":
            names = ", ".join(map(repr, fact.names[:3]))
            message, after = f"{given}, which holds names ({names}) and no parameters.", _without_names(text)
        case "no dict":
            message = f"`add_param_group` was given `{text}`, {a_kind(fact.given)}, where it takes a dict."
            after = f'{{"params": {text}}}'
        case "generators":
            message, after = f"{given}: a list of generators, and no list of parameters.", _starred(text)
        case "modules":
            message = f"{given}: a list that holds modules ({fact.given}), and no parameters."
            after = _parameters_of(text)
        case "added":
            message = f"`{text}` adds two generators, which Python cannot do."
            first, second = (part.strip() for part in text.split("+", 1))
            why = "`parameters()` gives a generator; lists can be added, generators cannot."
            after = f"list({first}) + list({second})"
        case "groups":
            message = f"{given}, and LBFGS takes no parameter groups."
        case "set":
            message = f"{given}: {group} is a set, which has no order."
            advice = f"make it a list: `list(...)` instead of a set, at {line}"
        case "missing":
            built = fact.argument.replace("(", "(model.parameters(), ", 1).replace(", )", ")")
            message = f"`{fact.argument}` builds {fact.kind} without any parameters."
            advice = f"give it the model's parameters first: `{built}`"
        case "required":
            message = f"{given}: {group} has no `{fact.given}`, and there is none for all groups."
            advice = f"give `{fact.given}=` in the group or behind the groups, at {line}"
        case _:
            return None
    change = respelled(place, fact.argument, after) if after is not None else Change(advice, None, place)
    return message, change, why


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


def _bent(crash: CrashFact, fact: OptimizerRefusal) -> Explanation:
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
        text = f"detach {name} before the optimizer is built: `.detach().requires_grad_()`"
        return message, Change(text, None, crash.place), why
    inner = value if re.fullmatch(r"[\w.]+\(.*\)(\.\w+\(.*\))*", value) and " * " not in value else f"({value})"
    after = f"{target} = {inner}.detach().requires_grad_()"
    text = f"write `{after}` at {place_text(fact.origin)}"
    return message, Change(text, replace_in_line(fact.origin, code, after), fact.origin), why


def _shared(crash: CrashFact, fact: OptimizerRefusal) -> Explanation:
    names = ", ".join(f"`{name}`" for name in fact.names[:3]) + (", ..." if len(fact.names) > 3 else "")
    told = f": {names} of `{fact.model}`" if fact.names else ""
    message = f"{fact.parameters} parameters stand in group {fact.groups[0]} and in group {fact.groups[-1]}{told}."
    why = "Each parameter belongs to one group: two learning rates for one parameter have no meaning."
    heads = {name.rpartition(".")[0] for name in fact.names}  # fc of fc.weight and fc.bias
    start = f"{next(iter(heads))}." if len(heads) == 1 and "" not in heads else ""
    if not start or not fact.model:
        return message, Change("leave them out of one of the two groups", None, crash.place), why
    after = f'[p for n, p in {fact.model}.named_parameters() if not n.startswith("{start}")]'
    change = respelled(statement_place(crash), f"{fact.model}.parameters()", after)
    if change.edit is None:
        change = Change(f"leave them out of the first group: `{after}`", None, crash.place)
    return message, change, why


def _no_params(crash: CrashFact, fact: OptimizerRefusal) -> Explanation:
    keys = ", ".join(map(repr, fact.names))
    message = f"Parameter group {fact.groups[0]} of {fact.kind} has no entry 'params'; its keys are {keys}."
    place = statement_place(crash)
    wrong = next((name for name in fact.names if name.startswith("param") or name in ("parameters", "weights")), "")
    if not wrong:
        return message, Change("put the parameters under the key 'params'", None, crash.place), ""
    edits = [replace_in_line(place, f"{quote}{wrong}{quote}", f"{quote}params{quote}") for quote in "'\""]
    edit = next((edit for edit in edits if edit is not None and "\n" not in (place.code or "")), None)
    return message, Change(f"write 'params' instead of {wrong!r} at {place_text(place)}", edit, place), ""


def _two_models(crash: CrashFact, fact: OptimizerRefusal) -> Explanation | None:
    found = re.fullmatch(r"([\w.]+)\(([\w.]+\.parameters\(\)), ([\w.]+\.parameters\(\))(.*)\)", fact.argument)
    if found is None:
        return None
    message = f"{fact.kind} was given {found[3]} as its second argument, which is the learning rate."
    after = f"{found[1]}([*{found[2]}, *{found[3]}]{found[4]})"
    return message, respelled(statement_place(crash), fact.argument, after), ""


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
    place = statement_place(crash)
    if fact.fault.startswith("closure"):
        message, change, why = _closure(crash, fact, place)
    elif fact.fault == "order":
        found = re.fullmatch(r"([\w.]+)\(([\w.e-]+), ([\w.]+\.parameters\(\))\)", fact.argument)
        message = f"{fact.kind} was given the learning rate first and the parameters second."
        why = "The parameters are an optimizer's first argument; the learning rate is its second, best given as `lr=`."
        change = Change(f"swap the two at {place_text(place)}", None, place)
        if found is not None:
            change = respelled(place, fact.argument, f"{found[1]}({found[3]}, lr={found[2]})")
    elif fact.fault in ("text", "negative", "not two", "out of range", "nesterov"):
        name = fact.names[0]
        rule = _RULES.get(name, f"`{name}` is a number of at least 0")
        kind = " (text)" if fact.fault == "text" else ""
        message = f"{fact.kind} was built with {name} = {fact.given}{kind}: {rule}."
        why = f"{rule[0].upper()}{rule[1:]}; {fact.kind} checks that before anything is trained."
        if fact.fault == "text":
            why = "YAML reads 1e-3 as text because the dot is missing, and so does every value taken from a text file."
        text = written(place, fact.argument) or fact.argument
        after = _better(fact, text)
        change = Change(f"give another {name} at {place_text(place)}", None, crash.place)
        if after is not None and fact.argument:
            change = _in_keyword(place, f"{name}={text}", f"{name}={after}")
    else:
        return None
    return with_change(crash, message, why, change, {"line": line_text(crash.place)})


def _closure(crash: CrashFact, fact: OptimizerRefusal, place: Place) -> Explanation:
    """`step` was given no function, or one that returns nothing."""
    owner = re.match(r"[\w.]+(?=\.step\()", (place.code or "").split("=")[-1].strip())
    name = owner[0] if owner else "optimizer"
    why = f"{fact.kind} calls the closure to compute the loss, for some steps several times; it must return the loss."
    if fact.fault == "closure returns nothing":
        message = f"The closure `{fact.given}` given to {fact.kind} returns nothing: it has no `return`."
        code = fact.origin.code or ""
        loss = re.fullmatch(r"([A-Za-z_]\w*)\.backward\(\)", code)
        name = loss[1] if loss else "loss"
        edit = Edit(fact.origin.file or "", fact.origin.line or 0, code, f"{code}\nreturn {name}") if loss else None
        return message, Change(f"write `return {name}` after {line_text(fact.origin)}", edit, fact.origin), why
    if fact.fault == "closure called":
        message = f"`{name}.step` was given what `{fact.argument}` returned, and no function."
        return message, respelled(place, fact.argument, fact.argument.partition("(")[0]), why
    if fact.kind != "LBFGS":
        message = f"`{name}.step` was given `{fact.argument}`, a tensor: it takes no loss."
        why = (
            "An optimizer reads the gradients that `backward()` left in the "
            "parameters; the loss itself is of no use to it."
        )
        return message, respelled(place, f"{name}.step({fact.argument})", f"{name}.step()"), why
    given = f"`{fact.argument}`, a tensor," if fact.argument else "nothing"
    message = f"`{name}.step` of LBFGS was given {given} and needs a closure: a function that computes the loss."
    text = (
        f"put `{name}.zero_grad()`, the loss and its `backward()` into `def closure():`, return the loss from it, "
        f"and call `{name}.step(closure)`"
    )
    frame = user_frame(crash)
    line = frame.code if frame else crash.place.code
    return message, Change(text, None, Place(crash.place.file, crash.place.line, crash.place.module, line)), why


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
        pairs = zip(numbers, ("0.9", "0.999"), strict=False)
        fixed = [number if 0 <= float(number) < 1 else default for number, default in pairs]
        return f"({', '.join(fixed)})" if len(fixed) == 2 else None
    return "False" if fact.fault == "nesterov" else None


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
    if fact is None:
        return None
    start, model, where, edit = f"{fact.kind} got nothing: ", f"`{fact.model}` ({fact.given})", fact.origin, None
    match fact.fault:
        case "used up":
            used = f", at line {fact.names[0]}" if fact.names else ""
            told = (
                f"`{fact.argument}` is a generator, `{fact.given}`, that something else has run through already{used}."
            )
            why = f"A generator can be run through once. `{fact.model}` does have {fact.parameters} parameters."
            fix = f"Keep them in a list: `{fact.argument} = list({fact.given})` at {place_text(fact.origin)}."
            edit = replace_in_line(fact.origin, fact.given, f"list({fact.given})")
        case "frozen":
            line = f", set at {place_text(fact.origin)}" if fact.origin.file else ""
            told = (
                f"all {fact.parameters} parameters of {model} are frozen, requires_grad is False{line}, and the "
                "optimizer was given only those that are not."
            )
            why = "`parameters()` of a model are those of all its parts: freezing them all leaves nothing to train."
            head = f"{fact.model}.{fact.names[-1]}" if fact.names else fact.model
            fix = (
                "Freeze only what is to stay as it is, or make the rest trainable again before the optimizer is built: "
                f"`{head}.requires_grad_(True)`."
            )
        case "strays":
            told, why, fix, edit = _strays(fact, model)
            where = fact.strays[0].place
        case "nothing":
            told = f"{model} has no parameters at all."
            why = (
                "Activations, pooling, flattening and losses have nothing to train, and layers of a function belong to "
                "nobody."
            )
            fix = (
                f"Give `{fact.model}` layers with weights as attributes, or build the optimizer from the model that "
                "has them."
            )
            where = crash.place
        case _:
            return None
    evidence: dict[str, float | str] = {"given": fact.argument, "line": line_text(crash.place)}
    if fact.parameters:
        evidence |= {"parameters": float(fact.parameters), "trainable": float(fact.trainable)}
    if where.file and where.line != crash.place.line:
        evidence["cause"] = line_text(where)
    return Blame(f"{start}{told}", why, fix, where if where.file else crash.place, evidence, 0.97, edit)


def _strays(fact: OptimizerRefusal, model: str) -> tuple[str, str, str, Edit | None]:
    """What holds parameters and is not looked into: a plain tensor or container."""
    stray = fact.strays[0]
    code, line = stray.place.code or "", place_text(stray.place)
    if stray.container == "tensor":
        target, equals, value = code.partition(" = ")
        plain = re.sub(r",\s*requires_grad=True", "", value)
        return (
            f"`self.{stray.attribute}` of {model} is a plain tensor that requires grad, not a parameter.",
            "Only an `nn.Parameter` that is assigned to a module is found by `parameters()`.",
            f"Wrap it in `nn.Parameter(...)` at {line}.",
            line_replaced(stray.place, f"{target} = nn.Parameter({plain})") if equals else None,
        )
    holder = _HOLDERS.get(stray.container, "ModuleList")
    literal = re.fullmatch(rf"(self\.{stray.attribute} = )([\[({{].*[\])}}])", code)
    inside = literal[2] if literal and literal[2] not in ("[]", "{}", "()") else ""
    return (
        f"{model} keeps its layers in a plain {stray.container}, `self.{stray.attribute}` ({', '.join(stray.kinds)}), "
        "where it does not look for parameters.",
        f"A module finds its children by its attributes; it does not look into a {stray.container}.",
        f"Make `self.{stray.attribute}` an `nn.{holder}` at {line}.",
        line_replaced(stray.place, f"{literal[1]}nn.{holder}({inside})") if literal else None,
    )


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
