"""A module class used where an object of it is meant: built from tensors, or asked for its parameters."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, user_frame
from torch_debugger.checks.explainers.calls import parse_expression
from torch_debugger.checks.explainers.respelling import edited_place, line_edit, respelled, statement_place
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.checks.explainers.wording import as_sentence
from torch_debugger.records import CrashFact, Place
from torch_debugger.records.evidence.building import ClassUseFact

_WHY = (
    "A module is used in two steps: `{cls}(...)` with settings builds "
    "an object, and calling that object runs it."
)


def explain_class_use(crash: CrashFact) -> Blame | None:
    fact = crash.evidence.building.class_use if crash.evidence.building is not None else None
    if fact is None:
        return None
    change = _change(crash, fact)
    evidence: dict[str, float | str] = {"line": line_text(fact.place)}
    if fact.tensors:
        evidence["given"] = ", ".join(fact.tensors)
    if fact.assigned.file:
        evidence["class"] = line_text(fact.assigned)
    why = _WHY.format(cls=fact.cls if fact.assigned.file else fact.written)
    place = edited_place(crash, change if change.edit is not None else Change("", None, fact.place))
    return Blame(_message(fact), why, as_sentence(change.text), place, evidence, 0.97, change.edit)


def _message(fact: ClassUseFact) -> str:
    name, given = f"`{fact.written}` is the class `{fact.cls}` itself", " and ".join(fact.tensors[:2])
    if not fact.tensors:
        return f"{name}, not an object of it, so `{fact.call}` has nothing to work on."
    if fact.assigned.file:
        return f"{name}: `{fact.call}` builds a new object from {given} instead of running one."
    what = "a loss" if fact.is_loss else "a module"
    return f"`{fact.call}` builds {what} with {given} as its settings instead of running it on them."


def _change(crash: CrashFact, fact: ClassUseFact) -> Change:
    if fact.assigned.file:
        return _instantiate(fact)
    named = [name for name in fact.objects if fact.call.startswith(f"{fact.written}(")]
    place = _call_place(crash, fact)
    if named and not fact.is_loss and fact.written == fact.cls:
        return respelled(place, fact.call, fact.call.replace(f"{fact.written}(", f"{named[0]}(", 1))
    if not fact.tensors:
        needed = ", ".join(fact.needs)
        owner = f"{fact.written}({needed})"
        return respelled(place, fact.call, fact.call.replace(fact.written, owner, 1))
    split = _split(crash, fact)
    if fact.weights or not fact.torchs or split is None:
        return _build_once(crash, fact)
    return respelled(place, fact.call, split)


def _build_once(crash: CrashFact, fact: ClassUseFact) -> Change:
    """What has weights, or a mode, is built before the loop and not each time it runs."""
    frame = user_frame(crash)
    inside = frame is not None and frame.module is not None and frame.function != "__init__"
    name = "self.layer" if inside else fact.cls.lower()
    needed = ", ".join(fact.needs)
    built = f"`{name} = {fact.written}({needed})`"
    where = "once in `__init__`" if inside else "once, before the loop"
    return Change(
        f"build it {where}, {built}, and call `{name}(x)` at {place_text(fact.place)}", None, fact.place
    )


def _instantiate(fact: ClassUseFact) -> Change:
    """model = Net -> model = Net()"""
    code = fact.assigned.code or ""
    if fact.needs:
        return Change(
            f"build an object at {place_text(fact.assigned)}: `{code}({', '.join(fact.needs)})`",
            None,
            fact.assigned,
        )
    edit = line_edit(fact.assigned, code, f"{code}()") if code.endswith(fact.cls) else None
    return Change(f"write `{code}()` instead of `{code}` at {place_text(fact.assigned)}", edit, fact.assigned)


def _call_place(crash: CrashFact, fact: ClassUseFact) -> Place:
    """The whole statement of the call, where it is the one that crashed."""
    whole = statement_place(crash)
    lines = (whole.code or "").split("\n")
    inside = whole.file == fact.place.file and whole.line is not None and fact.place.line is not None
    return whole if inside and 0 <= (fact.place.line or 0) - (whole.line or 0) < len(lines) else fact.place


def _split(crash: CrashFact, fact: ClassUseFact) -> str | None:
    """nn.Softmax(x, dim=1) -> nn.Softmax(dim=1)(x); a loss takes its first two arguments to the call."""
    node = parse_expression(fact.call)
    if not isinstance(node, ast.Call) or any(isinstance(part, ast.Starred) for part in node.args):
        return None
    count = 2 if fact.is_loss else 1
    inputs, settings = node.args[:count], node.args[count:]
    if fact.cls.startswith("Dropout"):
        return _dropout(crash, node, fact)
    words = list(node.keywords)
    if not inputs:
        inputs, words = [word.value for word in words[:count]], words[count:]
    built = ast.Call(node.func, settings, words)
    return f"{ast.unparse(built)}({', '.join(ast.unparse(part) for part in inputs)})"


def _dropout(crash: CrashFact, node: ast.Call, fact: ClassUseFact) -> str | None:
    """A dropout built anew each time is always in training mode: the function takes the model's."""
    frame = user_frame(crash)
    if frame is None or frame.module is None or fact.cls != "Dropout" or not fact.written.startswith("nn."):
        return None
    given = [ast.unparse(part) for part in (*node.args, *node.keywords)]
    return f"nn.functional.dropout({', '.join(given)}, training=self.training)"
