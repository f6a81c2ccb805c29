"""The user's call of a layer: its first argument, and how to change what is given."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import Argument, argument_of, calls_of, parse_expression, rewritten
from torch_debugger.records import Edit, LayerFact, Place


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one argument of a call, in words and as an edit where it is plain."""

    text: str
    edit: Edit | None
    where: Place


def change_argument(call: Place, callee: str, pattern: str, position: int = 0) -> Change:
    """Write `pattern` ("{}.flatten(1)") around the argument of `callee(...)` on the line `call`."""
    argument = _argument(call.code or "", callee, position)
    if argument is None:
        return Change(f"give it `{pattern.format('x')}` at {place_text(call)}", None, call)
    changed = argument.replaced(pattern.format(argument.text))
    text = f"write `{changed}` instead of `{argument.call}` at {place_text(call)}"
    return Change(text, rewritten(call, argument.call, changed), call)


def callee(layer: LayerFact) -> str:
    """The name the call line uses: fc1 in self.fc1(x), the root's where a container makes the call."""
    parts = (layer.path or "").split(".")
    return next((part for part in reversed(parts) if calls_of(layer.call.code or "", part)), parts[-1])


def _argument(code: str, callee: str, position: int) -> Argument | None:
    found = [argument_of(call, position, "") for call in calls_of(code, callee)]
    plain = [item for item in found if item is not None and _is_plain(item.text)]
    return plain[0] if len(found) == 1 and plain else None


def _is_plain(text: str) -> bool:
    """A name, an attribute, an entry or a call: something a method can follow without parentheses."""
    node = parse_expression(text)
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
