"""Element-wise operators whose operands do not broadcast."""

from __future__ import annotations

import ast
import math
import re

from torch_debugger.checks.explainers.blame import Blame, place_text, shape_text, tensor_evidence
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, two_tensors
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.shapes.inference import broadcast, clash
from torch_debugger.records import CrashFact, Edit, LocalTensor

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_FUNCTIONS = (
    "add", "sub", "mul", "div", "maximum", "minimum", "add_", "sub_", "mul_", "div_", "masked_fill",
    "masked_fill_",
)  # fmt: skip
_MESSAGE = r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension (\d+)"
_WHY = "Element-wise operators compare sizes from the last dimension on: equal, or one of them 1."


def explain_elementwise(crash: CrashFact) -> Blame | None:
    return explain_nodes(crash, lambda line, node: _judge(crash, line, node) or _half_known(crash, line, node))


def _operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        return [node.left, node.right]
    if isinstance(node, ast.Compare) and len(node.comparators) == 1 and isinstance(node.ops[0], _COMPARISONS):
        return [node.left, *node.comparators]
    name, operands = called(node)
    return operands[:2] if name in _FUNCTIONS else []


def _judge(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors = two_tensors(line, _operands(node))
    sizes = clash(tensors[0].shape, tensors[1].shape) if tensors else None
    if tensors is None or sizes is None:
        return None
    left, right = tensors
    expression = line.source(node)
    fix, edit = _repair(crash, line, node, left, right)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} combines {shape_text(left.shape)} with "
        f"{shape_text(right.shape)}: counted from the right, {sizes[0]} meets {sizes[1]}, and neither is 1.",
        why=_WHY,
        fix=fix,
        where=crash.place,
        evidence=tensor_evidence(crash, left, right),
        confidence=0.95,
        edit=edit,
    )


def _repair(
    crash: CrashFact, line: Line, node: ast.expr, left: LocalTensor, right: LocalTensor
) -> tuple[str, Edit | None]:
    """The one form of an operand that fits, where there is just one."""
    for odd, other in ((right, left), (left, right)):
        forms = _forms(odd.shape, other.shape)
        if len(forms) == 1:
            changed, edit = change_operand(crash, line, node, odd.name, f"{odd.name}{forms[0]}")
            told = f"write `{changed}` instead of `{line.source(node)}`"
            return f"Bring `{odd.name}` to a form that fits: {told}.", edit
    for own, other in ((right, left), (left, right)):
        if own.name.startswith("self.") and len(own.shape) == len(other.shape):
            place = next(
                i for i, pair in enumerate(zip(own.shape, other.shape, strict=True)) if _clashes(*pair)
            )
            sizes = f"{other.shape[place]} instead of {own.shape[place]}"
            return f"Build `{own.name}` with {sizes} in dimension {place}, or change `{other.name}`.", None
    fix = f"Bring `{left.name}` and `{right.name}` to the same shape before this line"
    return f"{fix}{_sources(crash, left, right)}.", None


def _sources(crash: CrashFact, *tensors: LocalTensor) -> str:
    """: `y` comes out of `net.block.conv2`; said only where one module alone made that shape."""
    made = [(step.path, step.made[0]) for step in crash.flow if step.made]
    makers = {tensor.name: [path for path, shape in made if shape == tensor.shape] for tensor in tensors}
    told = [f"`{name}` comes out of `{paths[0]}`" for name, paths in makers.items() if len(paths) == 1]
    return f": {', '.join(told)}" if told else ""


def _clashes(first: int, second: int) -> bool:
    return first != second and 1 not in (first, second)


def _forms(odd: tuple[int, ...], other: tuple[int, ...]) -> list[str]:
    """.flatten() for the same elements in another form, .unsqueeze(1) for one value a row, and so on."""
    if len(other) == 1 and len(odd) > 1 and math.prod(odd) == other[0]:
        return [".flatten()"]
    if not odd or len(odd) >= len(other):
        return []
    if len(odd) > 1 and len(other) > len(odd) + 1 and odd == other[: len(odd)]:
        return [f"[{', '.join([':'] * len(odd) + ['None'] * (len(other) - len(odd)))}]"]
    widened = [(*odd[:place], 1, *odd[place:]) for place in range(len(odd) + 1)]
    fitting = [place for place, shape in enumerate(widened) if broadcast(shape, other) == other]
    return [f".unsqueeze({place})" for place in fitting]


def _half_known(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """One operand is a longer expression: the message has its size, and the known one must confirm it."""
    operands = _operands(node)
    match = re.search(_MESSAGE, crash.message)
    known = [line.tensor(operand) for operand in operands]
    if not line.failing or match is None or len(known) != 2 or sum(tensor is None for tensor in known) != 1:
        return None
    side = 0 if known[0] is not None else 1
    held, sizes = known[side], (int(match[1]), int(match[2]))
    if held is None or sizes[side] not in held.shape:
        return None
    other, expression = line.source(operands[1 - side]), line.source(node)
    return Blame(
        message=f"`{expression}` at {place_text(crash.place)} combines `{held.name}` {shape_text(held.shape)} "
        f"with `{other}`, which has {sizes[1 - side]} and not {sizes[side]} in dimension {match[3]}.",
        why=_WHY,
        fix=f"Make `{held.name}` and `{other}` agree in dimension {match[3]}.",
        where=crash.place,
        evidence=tensor_evidence(crash, held) | {other: f"{sizes[1 - side]} in dimension {match[3]}"},
        confidence=0.93,
    )
