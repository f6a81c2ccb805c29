"""torch.cat and torch.stack of tensors that do not fit together."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.expressions import Line, explain_nodes, number
from torch_debugger.records import CrashFact, LocalTensor

_FUNCTIONS = ("cat", "concat", "concatenate", "stack")


def explain_join(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return None
    function = node.func.attr
    if function not in _FUNCTIONS:
        return None
    tensors, dimension = _joined(line, node.args[0]), _dimension(node)
    odd = next((tensor for tensor in tensors[1:] if _differs(tensors[0], tensor, dimension, function)), None)
    if odd is None or dimension is None:
        return None
    first, where = tensors[0], place_text(crash.place)
    return Blame(
        message=f"`{line.source(node)}` at {where} joins `{first.name}` {shape_text(first.shape)} and "
        f"`{odd.name}` {shape_text(odd.shape)}: {_rule(function, first.shape, odd.shape, dimension)}.",
        why="stack puts equal tensors next to each other; cat allows one dimension, the one it joins along, "
        "to differ.",
        fix=_fix(function, first, odd),
        where=crash.place,
        evidence=tensor_evidence(crash, first, odd),
        confidence=0.95,
    )


def _joined(line: Line, node: ast.expr) -> list[LocalTensor]:
    """The tensors of a list written out, or of a variable that holds a short list."""
    if isinstance(node, ast.List | ast.Tuple):
        found = [line.tensor(item) for item in node.elts]
        return [tensor for tensor in found if tensor is not None]
    return line.entries(ast.unparse(node))


def _dimension(node: ast.Call) -> int | None:
    written = [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("dim", "axis"))]
    return number(written[0]) if written else 0


def _differs(first: LocalTensor, other: LocalTensor, dimension: int | None, function: str) -> bool:
    if function == "stack" or len(first.shape) != len(other.shape):
        return first.shape != other.shape
    return dimension is not None and bool(_different(first.shape, other.shape, dimension))


def _different(first: tuple[int, ...], other: tuple[int, ...], dimension: int) -> list[int]:
    """The dimensions that differ although they are not the one joined along."""
    joined = dimension % len(first) if first else 0
    return [place for place, (a, b) in enumerate(zip(first, other, strict=True)) if a != b and place != joined]


def _rule(function: str, first: tuple[int, ...], odd: tuple[int, ...], dimension: int) -> str:
    if function == "stack":
        return "stack needs equal shapes"
    if len(first) != len(odd):
        return "cat needs the same number of dimensions"
    place = _different(first, odd, dimension)[0]
    sizes = f"{first[place]} and {odd[place]}"
    return f"all dimensions but {dimension} must be equal, and dimension {place} is {sizes}"


def _fix(function: str, first: LocalTensor, odd: LocalTensor) -> str:
    same = len(first.shape) == len(odd.shape)
    places = [place for place in range(len(first.shape)) if same and first.shape[place] != odd.shape[place]]
    if len(places) == 1 and function != "stack":
        return (
            f"Join along dimension {places[0]}, the only one that differs, or make dimension {places[0]} equal."
        )
    if len(places) == 1:
        return f"Pad or cut them to one size in dimension {places[0]}, or join them there with torch.cat."
    return f"Bring `{odd.name}` to the form of `{first.name}`, {shape_text(first.shape)}, before this line."
