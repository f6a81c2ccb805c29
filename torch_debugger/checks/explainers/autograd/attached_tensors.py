"""A tensor with a graph where only values can go: to numpy, into a copy, to another process."""

from __future__ import annotations

import re

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, rewritten
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, CrashFrame, Edit, LocalTensor, Place
from torch_debugger.records.evidence.autograd import RefusedTensor

_WHY = {
    "numpy": "numpy keeps no graph; torch asks you to say that the gradient may end here.",
    "deepcopy": "A copy of a computed tensor would need a copy of its graph too; only leaves are copied.",
    "process": "A graph cannot cross into another process; only values can.",
}
_DOES = {
    "numpy": "turns {}, which requires grad, into a numpy array",
    "deepcopy": "deep-copies {}, which was computed from something that requires grad",
    "process": "sends {}, which requires grad, to another process",
}


def explain_attached(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    refused = evidence.refused if evidence is not None else None
    if crash.kind != "RuntimeError" or frame is None or refused is None or refused.asked not in _WHY:
        return None
    if not refused.tensor.requires_grad or (refused.asked != "numpy" and refused.tensor.is_leaf):
        return None
    change = _change(frame, refused)
    does = _DOES[refused.asked].format(_what(refused))
    told: dict[str, float | str] = {"line": line_text(crash.place)}
    if refused.made.file:
        told["made"] = line_text(refused.made)
    return Blame(
        message=f"`{one_line(frame.code)}` at {place_text(crash.place)} {does}.",
        why=f"{_WHY[refused.asked]}{_form(refused.tensor)}",
        fix=change.text,
        where=change.where,
        evidence=told,
        confidence=0.96,
        edit=change.edit,
    )


def _form(tensor: LocalTensor) -> str:
    if not tensor.dtype:
        return ""
    graph = f" and comes from `{tensor.grad_fn}`" if tensor.grad_fn else ""
    return f" This one has shape {shape_text(tensor.shape)}{graph}."


def _what(refused: RefusedTensor) -> str:
    if refused.holder and not refused.tensor.name:
        return f"a tensor of `{refused.holder}`"
    return f"`{refused.tensor.name}`" if refused.tensor.name else "a tensor"


def _change(frame: CrashFrame, refused: RefusedTensor) -> Change:
    whole = Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)
    if refused.holder:
        otherwise = Change(f"Keep `{refused.holder}` without graphs: use `.detach()`.", None, whole)
        return _kept(refused) or otherwise
    name = refused.tensor.name
    if not name:
        return Change("Give it the tensor's `.detach()`.", None, whole)
    before, after = _forms(refused.asked, name, frame.code)
    text = f"Take the values without the graph: write `{after}` instead of `{before}` at {place_text(whole)}."
    return Change(text, rewritten(whole, before, after), whole)


def _forms(asked: str, name: str, code: str) -> tuple[str, str]:
    if f"{name}.numpy()" in code:
        return f"{name}.numpy()", f"{name}.detach().numpy()"
    copied = re.search(rf"(?:copy\.)?deepcopy\({re.escape(name)}\)", code)
    if asked == "deepcopy" and copied is not None:
        return copied[0], f"{name}.detach().clone()"
    return name, f"{name}.detach()"


def _kept(refused: RefusedTensor) -> Change | None:
    """Let go of the graph where the tensor is kept: losses.append(loss.item())"""
    place, code = refused.made, refused.made.code or ""
    appended = re.fullmatch(r"(.+\.append\()([A-Za-z_][\w.]*)\)", code)
    assigned = re.fullmatch(r"(self\.\w+ = )([A-Za-z_][\w.]*(?:\([\w., ]*\))?)", code)
    found = appended or assigned
    if found is None or place.file is None or place.line is None:
        return None
    values = ".item()" if appended and not refused.tensor.shape else ".detach()"
    after = f"{found[1]}{found[2]}{values}" + (")" if appended else "")
    text = f"Keep the value without its graph: write `{after}` instead of `{code}` at {place_text(place)}."
    return Change(text, Edit(place.file, place.line, code, after), place)
