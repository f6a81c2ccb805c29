"""A write in place into a tensor that autograd must not lose: a leaf, or one of several views."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.autograd.new_tensors import new_tensor
from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import one_line, parse_statement
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import CrashFact, CrashFrame, Edit, Place
from torch_debugger.records.evidence.autograd import RefusedTensor

_LEAF_WHY = (
    "A leaf that requires grad is where gradients end up; a recorded write into it would leave no leaf to give "
    "them to. Weights are set and updated with the recording turned off."
)
_VIEW_WHY = (
    "Functions that give several views at once share one memory among them, and autograd cannot follow a write "
    "into one of them."
)
_MIXED_WHY = (
    "The view was taken unrecorded and is written to recorded, so it is unclear whether gradients should flow."
)
_INFERENCE_WHY = (
    "Tensors made in inference mode carry no version counter, so a write outside of it is not allowed."
)


def explain_written_leaf(crash: CrashFact) -> Blame | None:
    evidence, frame = crash.evidence.autograd, user_frame(crash)
    refused = evidence.refused if evidence is not None else None
    if crash.kind != "RuntimeError" or frame is None or refused is None or refused.asked != "write":
        return None
    if refused.inference:
        return _blame(crash, refused, _made(refused, "in inference mode"), _INFERENCE_WHY, _cloned(frame))
    if "no_grad mode" in crash.message:
        return _blame(crash, refused, _made(refused, "under no_grad"), _MIXED_WHY, unrecorded(frame))
    if refused.tensor.requires_grad and refused.tensor.is_leaf:
        return _leaf(crash, frame, refused)
    if refused.tensor.requires_grad and refused.view:
        what = _made(refused, "as one of several views")
        return _blame(crash, refused, what, _VIEW_WHY, new_tensor(_whole(frame)))
    return None


def _made(refused: RefusedTensor, how: str) -> str:
    line = f" at {place_text(refused.made)}" if refused.made.file else ""
    return f"which was made {how}{line}"


def _leaf(crash: CrashFact, frame: CrashFrame, refused: RefusedTensor) -> Blame:
    what = "a leaf that requires grad"
    if frame.function == "forward" and not refused.tensor.name.startswith("self."):
        return _blame(crash, refused, what, _LEAF_WHY, new_tensor(_whole(frame)))
    return _blame(crash, refused, what, _LEAF_WHY, unrecorded(frame))


def _whole(frame: CrashFrame) -> Place:
    return Place(frame.file, frame.code_line or frame.line, frame.module, frame.code)


def unrecorded(frame: CrashFrame) -> Change:
    """The statement under `with torch.no_grad():`"""
    place = _whole(frame)
    text = f"Write into it unrecorded: put `{one_line(frame.code)}` at {place_text(place)} under "
    edit = Edit(frame.file, frame.line, frame.code, f"with torch.no_grad():\n    {frame.code}")
    plain = "\n" not in frame.code and not frame.code.startswith(("if", "for", "while", "with"))
    return Change(f"{text}`with torch.no_grad():`.", edit if plain else None, place)


def _cloned(frame: CrashFrame) -> Change:
    place = _whole(frame)
    tree = parse_statement(frame.code)
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)] if tree is not None else []
    name = names[0] if names else "x"
    edit = Edit(frame.file, frame.line, frame.code, f"{name} = {name}.clone()\n{frame.code}")
    text = (
        f"Copy it first: add `{name} = {name}.clone()` before {place_text(place)}, or make it under `no_grad`."
    )
    return Change(text, edit if names and "\n" not in frame.code else None, place)


def _blame(crash: CrashFact, refused: RefusedTensor, what: str, why: str, change: Change) -> Blame:
    tensor = refused.tensor
    told: dict[str, float | str] = {tensor.name: f"{tensor.dtype} {shape_text(tensor.shape)}"}
    if refused.made.file:
        told["made"] = line_text(refused.made)
    frame = user_frame(crash)
    code = one_line(frame.code) if frame is not None else ""
    return Blame(
        message=f"`{code}` at {place_text(crash.place)} writes into `{tensor.name}`, {what}.",
        why=why,
        fix=change.text,
        where=change.where,
        evidence=told | {"line": line_text(crash.place)},
        confidence=0.96,
        edit=change.edit,
    )
