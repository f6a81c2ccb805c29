"""Settings an optimizer refuses, arguments in the wrong order, and closures that are none."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.respelling import edited_place, respelled, statement_place, written
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import as_sentence
from torch_debugger.records import CrashFact, Edit, Place
from torch_debugger.records.evidence.building import OptimizerRefusal

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
    return Blame(
        message, why, as_sentence(change.text), where, {"line": line_text(crash.place)}, 0.97, change.edit
    )


def _setting(crash: CrashFact, fact: OptimizerRefusal, name: str) -> Blame:
    rule = _RULES.get(name, f"`{name}` is a number of at least 0")
    kind = " (text)" if fact.fault == "text" else ""
    message = f"{fact.kind} was built with {name} = {fact.given}{kind}: {rule}."
    why = f"{rule[0].upper()}{rule[1:]}; {fact.kind} checks that before anything is trained."
    if fact.fault == "text":
        why = (
            "YAML reads 1e-3 as text because the dot is missing, and so "
            "does every value taken from a text file."
        )
    place = statement_place(crash)
    after = _better(fact, written(place, fact.argument) or fact.argument)
    if after is None or not fact.argument:
        return _blame(
            crash, message, why, Change(f"give another {name} at {place_text(place)}", None, crash.place)
        )
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
    why = (
        "The parameters are an optimizer's first argument; the learning "
        "rate is its second, best given as `lr=`."
    )
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
    why = (
        f"{fact.kind} calls the closure to compute the loss, for some steps "
        "several times; it must return the loss."
    )
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
    message = (
        f"`{name}.step` of LBFGS was given {given} and needs a closure: a function that computes the loss."
    )
    text = (
        f"put `{name}.zero_grad()`, the loss and its `backward()` into `def "
        "closure():`, return the loss from it, and "
        f"call `{name}.step(closure)`"
    )
    where = Place(
        crash.place.file, crash.place.line, crash.place.module, frame.code if frame else crash.place.code
    )
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
