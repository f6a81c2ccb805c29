"""torch.cat and torch.stack of tensors that do not fit together."""

from __future__ import annotations

import ast

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.expressions import Line, explain_nodes, number
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.shapes.lost_rows import lost_rows
from torch_debugger.records import CrashFact, LocalTensor

_FUNCTIONS = ("cat", "concat", "concatenate", "stack")
_WHY = (
    "stack puts equal tensors next to each other; cat allows one dimension, the one it joins along, to differ."
)


def explain_join(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node))


def joined_tensors(line: Line, node: ast.expr) -> tuple[list[LocalTensor], int]:
    """The known tensors of a call of cat or stack, and the dimension it joins along."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
        return [], 0
    dimension = _dimension(node)
    if node.func.attr not in _FUNCTIONS or dimension is None:
        return [], 0
    listed = node.args[0]
    if not isinstance(listed, ast.List | ast.Tuple):
        return line.entries(ast.unparse(listed)), dimension
    found = [tensor for item in listed.elts for tensor in _listed(line, item)]
    empty = (0,)  # which cat joins with anything
    return [tensor for tensor in found if tensor.shape != empty], dimension


def _listed(line: Line, item: ast.expr) -> list[LocalTensor]:
    """One entry of the list that is joined; of `*parts` all."""
    if isinstance(item, ast.Starred):
        return line.entries(ast.unparse(item.value))
    tensor = line.tensor(item)
    return [tensor] if tensor is not None else []


def _dimension(node: ast.Call) -> int | None:
    written = [*node.args[1:2], *(word.value for word in node.keywords if word.arg in ("dim", "axis"))]
    return number(written[0]) if written else 0


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors, dimension = joined_tensors(line, node)
    function = node.func.attr if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else ""
    odd = next((tensor for tensor in tensors[1:] if _differs(tensors[0], tensor, dimension, function)), None)
    if odd is None:
        return None
    first, expression = tensors[0], line.source(node)
    fix, operand, changed = _repair(function, first, odd, dimension)
    whole, edit = change_operand(crash, line, node, operand, changed) if changed else (expression, None)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} joins `{first.name}` {shape_text(first.shape)} "
        f"and `{odd.name}` {shape_text(odd.shape)}: {_rule(function, first.shape, odd.shape, dimension)}.",
        why=_why(crash, first, odd, dimension),
        fix=f"{fix}: write `{whole}`." if changed else f"{fix}.",
        where=crash.place,
        evidence=tensor_evidence(crash, first, odd),
        confidence=0.95,
        edit=edit,
    )


def _why(crash: CrashFact, first: LocalTensor, odd: LocalTensor, dimension: int) -> str:
    same = len(first.shape) == len(odd.shape)
    places = _different(first.shape, odd.shape, dimension) if same else []
    lost = lost_rows(crash.flow, (first.shape[places[0]], odd.shape[places[0]])) if places else None
    if lost is None:
        return _WHY
    return f"{lost.told}. Sizes that are {lost.multiples} come back as they were."


def _differs(first: LocalTensor, other: LocalTensor, dimension: int, function: str) -> bool:
    if function == "stack" or len(first.shape) != len(other.shape):
        return first.shape != other.shape
    return bool(_different(first.shape, other.shape, dimension))


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


def _repair(function: str, first: LocalTensor, odd: LocalTensor, dimension: int) -> tuple[str, str, str]:
    """What to do, and the operand to write in another form where there is one answer."""
    if function == "stack":
        return _stacked(first, odd)
    long, short = (first, odd) if len(first.shape) > len(odd.shape) else (odd, first)
    joined = dimension % len(long.shape)
    if len(long.shape) == len(short.shape) + 1:
        widened = (*short.shape[:joined], 1, *short.shape[joined:])
        if not _different(long.shape, widened, joined):
            return (
                f"Give `{short.name}` the dimension it lacks",
                short.name,
                f"{short.name}.unsqueeze({dimension})",
            )
    if len(long.shape) != len(short.shape):
        return f"Bring `{short.name}` to the {len(long.shape)} dimensions of `{long.name}`", "", ""
    return _one_rank(first, odd, joined)


def _one_rank(first: LocalTensor, odd: LocalTensor, joined: int) -> tuple[str, str, str]:
    places = _different(first.shape, odd.shape, joined)
    for one, full in ((first, odd), (odd, first)):
        if places == [0] and one.shape[0] == 1:
            sizes = ", ".join([f"{full.name}.size(0)", *["-1"] * (len(one.shape) - 1)])
            return f"Repeat `{one.name}` for each sample", one.name, f"{one.name}.expand({sizes})"
    if joined == 1 and len(first.shape) in (4, 5) and places[0] > 1:
        size = f"torch.nn.functional.interpolate({first.name}, size={odd.name}.shape[2:])"
        return f"Bring `{first.name}` to the size of `{odd.name}`", first.name, size
    if len(places) == 1 and first.shape[joined] == odd.shape[joined]:
        only = f"dimension {places[0]}, the only one that differs"
        return f"Join along {only}, or make dimension {places[0]} equal", "", ""
    return f"Make dimension {places[0]} of `{first.name}` and `{odd.name}` equal before this line", "", ""


def _stacked(first: LocalTensor, odd: LocalTensor) -> tuple[str, str, str]:
    same = len(first.shape) == len(odd.shape)
    places = [place for place in range(len(first.shape)) if same and first.shape[place] != odd.shape[place]]
    if len(places) == 1:
        return (
            f"Pad or cut them to one size in dimension {places[0]}, or join them there with torch.cat",
            "",
            "",
        )
    return (
        f"Bring `{odd.name}` to the form of `{first.name}`, {shape_text(first.shape)}, before this line",
        "",
        "",
    )
