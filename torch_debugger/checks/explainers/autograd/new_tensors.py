"""A statement that writes in place, rewritten so that it makes a new tensor."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import place_text
from torch_debugger.checks.explainers.calls import one_line, parse_statement
from torch_debugger.checks.explainers.statements import Change
from torch_debugger.records import Edit, Place

_BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


def new_tensor(place: Place) -> Change:
    """The statement that makes a new tensor in place of writing into the old one."""
    tree = parse_statement(place.code or "")
    node = tree.body[0] if isinstance(tree, ast.Module) and len(tree.body) == 1 else None
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and type(node.op) in _BINARY:
        value = ast.get_source_segment(place.code or "", node.value) or ast.unparse(node.value)
        return _replaced(
            place, f"{node.target.id} = {node.target.id} {_BINARY[type(node.op)]} {_operand(node, value)}"
        )
    if isinstance(node, ast.Assign | ast.AugAssign):
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            name = target.value.id
            return _replaced(place, f"{name} = {name}.clone()\n{place.code}")
    return _call_change(place, node)


def _operand(node: ast.AugAssign, value: str) -> str:
    loose = isinstance(node.value, ast.BinOp) and not isinstance(node.op, ast.Add)
    return f"({value})" if loose else value


def _call_change(place: Place, node: ast.AST | None) -> Change:
    """x.mul_(2) and F.relu(x, inplace=True): the same function without the underscore or the flag."""
    code = place.code or ""
    plain = re.sub(r",\s*inplace\s*=\s*True", "", code)
    if plain == code:
        plain = re.sub(r"(\.[a-z]\w*?)_\(", r"\1(", code, count=1)
    if isinstance(node, ast.Expr) and plain != code:
        target = _written_name(node.value)
        plain = f"{target} = {plain}" if target else code
    if plain == code:
        return Change(f"Make a new tensor at {place_text(place)}, or write into a `.clone()`.", None, place)
    return _replaced(place, plain)


def _written_name(call: ast.expr) -> str:
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return ""
    owner = call.func.value
    if isinstance(owner, ast.Name) and owner.id not in ("torch", "F"):
        return owner.id
    first = call.args[0] if call.args else None
    return first.id if isinstance(first, ast.Name) else ""


def _replaced(place: Place, after: str) -> Change:
    shown = "; ".join(after.split("\n"))
    text = (
        f"Make a new tensor: write `{shown}` instead of `{one_line(place.code or '')}` at {place_text(place)}."
    )
    plain = place.file is not None and place.line is not None and "\n" not in (place.code or "\n")
    edit = Edit(place.file or "", place.line or 0, place.code or "", after) if plain else None
    return Change(text, edit, place)
