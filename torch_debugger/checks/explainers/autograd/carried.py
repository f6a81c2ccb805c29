"""How to let go of a state that is carried from one round of a loop to the next with its graph."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import parse_statement
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import Edit, Place
from torch_debugger.records.evidence.autograd import CarriedState


def carried_change(state: CarriedState) -> Change:
    """Detach the state where it is kept, or behind the backward that used it."""
    kept = _kept_detached(state)
    if kept is not None:
        text = f"Keep the state without its graph: write `{kept}` instead of `{state.place.code}` at "
        return Change(f"{text}{place_text(state.place)}.", _edit(state.place, kept), state.place)
    line = f"{state.name} = {_detached(state.name, state.parts)}"
    text = f"Let go of the old graph: add `{line}` after `{state.after.code}` at {place_text(state.after)}."
    if "retain_graph" in (state.after.code or ""):
        text += " Then `retain_graph=True` is not needed."
    return Change(text, _edit(state.after, f"{state.after.code}\n{line}"), state.place)


def _detached(name: str, parts: int) -> str:
    return f"tuple(part.detach() for part in {name})" if parts else f"{name}.detach()"


def _kept_detached(state: CarriedState) -> str | None:
    """`self.h = h.detach()` for `self.h = h` in a module's own method."""
    appended = re.fullmatch(r"(.+\.append\()(\w+)\)", state.place.code or "")
    if appended is not None:
        return f"{appended[1]}{appended[2]}.detach())"
    tree = parse_statement(state.place.code or "") if state.in_module else None
    node = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and len(node.targets) == 1:
        return f"{ast.unparse(node.targets[0])} = {_detached(node.value.id, state.parts)}"
    return None


def _edit(place: Place, after: str) -> Edit | None:
    if place.file is None or place.line is None or place.code is None or "\n" in place.code:
        return None
    return Edit(place.file, place.line, place.code, after)
