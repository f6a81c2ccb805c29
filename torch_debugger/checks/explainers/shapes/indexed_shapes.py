"""gather, assignments to a part of a tensor, einsum: shapes that must match an index or an equation."""

from __future__ import annotations

import ast
import re

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence, user_frame
from torch_debugger.checks.explainers.calls import parse_statement, rewritten
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, LocalTensor


def explain_indexed(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash,
        lambda line, node: (
            _gather(crash, line, node) or _einsum(crash, line, node) or _assigned(crash, line, node)
        ),
    )


def _gather(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    held, index = (
        (line.tensor(operands[place]) for place in (0, 2)) if _is_gather(name, operands) else (None, None)
    )
    if held is None or index is None or len(held.shape) == len(index.shape) or not (held.shape and index.shape):
        return None
    expression, fix, edit = line.source(node), f"Give `{index.name}` {len(held.shape)} dimensions.", None
    if len(index.shape) + 1 == len(held.shape):
        added = f"{index.name}.unsqueeze({ast.unparse(operands[1])})"
        changed, edit = change_operand(crash, line, node, index.name, added)
        fix = f"Add the dimension: write `{changed}`; squeeze the result where one value a row is needed."
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} picks from {shape_text(held.shape)} "
        f"with an index {shape_text(index.shape)}: both need the same number of dimensions.",
        why=f"{name} gives back the shape of its index, so the index must have all dimensions of the tensor.",
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, held, index),
        confidence=0.96,
        edit=edit,
    )


def _is_gather(name: str, operands: list[ast.expr]) -> bool:
    return name in ("gather", "scatter", "scatter_", "scatter_add", "scatter_add_") and len(operands) >= 3


def _einsum(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    equation = operands[0].value if operands and isinstance(operands[0], ast.Constant) else None
    if name != "einsum" or not isinstance(equation, str) or "." in equation:
        return None
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    tensors = [line.tensor(operand) for operand in operands[1:]]
    known = [(term, tensor) for term, tensor in zip(terms, tensors, strict=False) if tensor is not None]
    what = _unequal(known) if len(known) == len(terms) == len(tensors) else None
    if what is None:
        return None
    given = [tensor for _, tensor in known]
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {what}.",
        why="In an einsum each letter names a dimension of its tensor, and stands for one size everywhere.",
        fix="Bring the tensors to the form the equation says, or write the letters as their dimensions are.",
        where=crash.place,
        evidence=tensor_evidence(crash, *given),
        confidence=0.96,
    )


def _unequal(known: list[tuple[str, LocalTensor]]) -> str | None:
    sizes: dict[str, tuple[int, str]] = {}
    for term, tensor in known:
        if len(term) != len(tensor.shape):
            return f"gives `{term}`, {len(term)} letters, to `{tensor.name}` {shape_text(tensor.shape)}"
        for letter, size in zip(term, tensor.shape, strict=True):
            before, name = sizes.setdefault(letter, (size, tensor.name))
            if before != size and 1 not in (before, size):
                return (
                    f"uses the letter {letter} for {before} in `{name}` and for {size} in `{tensor.name}` "
                    f"{shape_text(tensor.shape)}"
                )
    return None


def _assigned(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """out[:, i] = y, where y does not fit into the part; the message has the part's shape."""
    frame, tree = user_frame(crash), parse_statement(line.text)
    statement = tree.body[0] if isinstance(tree, ast.Module) and tree.body else None
    if frame is None or not isinstance(statement, ast.Assign) or not isinstance(node, ast.Subscript):
        return None
    told = re.search(r"size=\[([\d, ]*)\]|indexing result of shape \[([\d, ]*)\]", crash.message)
    value = line.tensor(statement.value)
    if ast.unparse(statement.targets[0]) != ast.unparse(node) or told is None or value is None:
        return None
    part = tuple(int(size) for size in (told[1] or told[2] or "").split(",") if size.strip())
    dropped = [place for place in range(len(value.shape)) if value.shape == (*part[:place], 1, *part[place:])]
    changed = f"{value.name}.squeeze({dropped[-1]})" if dropped else None
    before = f"{line.source(node)} = {value.name}"
    return Blame(
        message=f"`{before}` at {place_text(crash.place)} puts {shape_text(value.shape)} into a part of shape "
        f"{shape_text(part)}.",
        why="What is assigned must have the shape of the part, or broadcast to it.",
        fix=f"Drop the extra dimension: write `{line.source(node)} = {changed}`."
        if changed
        else f"Bring `{value.name}` to {shape_text(part)} before this line.",
        where=crash.place,
        evidence=tensor_evidence(crash, value) | {"expected": shape_text(part)},
        confidence=0.95,
        edit=rewritten(statement_at(crash, crash.place).whole, before, f"{line.source(node)} = {changed}")
        if changed
        else None,
    )
