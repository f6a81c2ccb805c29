"""A tensor that the machine has no memory for: which expression makes it, of what, and how large."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text, shape_text, user_frame
from torch_debugger.checks.explainers.calls import parse_expression
from torch_debugger.checks.explainers.devices.device_words import raised_by_the_user
from torch_debugger.checks.explainers.expressions import Line, called
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.shapes.inference import broadcast
from torch_debugger.records import CrashFact, Edit, LocalTensor
from torch_debugger.records.evidence import MemoryEvidence
from torch_debugger.records.units import bytes_text

_LOSSES = (
    "mse_loss",
    "l1_loss",
    "smooth_l1_loss",
    "huber_loss",
    "MSELoss",
    "L1Loss",
    "SmoothL1Loss",
    "HuberLoss",
)
_WIDTHS = (1, 2, 4, 8, 16)
_EVERY_PAIR = ("cdist", "outer", "matmul", "mm", "bmm", "ger", "pdist", "combinations", "cartesian_prod")
_FACTORIES = (
    "zeros", "ones", "empty", "full", "rand", "randn", "randint", "eye", "arange", "linspace", "one_hot",
)  # fmt: skip


def explain_host_memory(crash: CrashFact) -> Blame | None:
    held, frame = crash.evidence.memory, user_frame(crash)
    if held is None or held.device != "cpu" or frame is None or raised_by_the_user(crash):
        return None
    line = Line(frame, crash.flow)
    for node in line.nodes():
        blame = _broadcast(crash, held, line, node)
        if blame is not None:
            return blame
    return _sized(crash, held) or _plain(crash, held, line)


def _broadcast(crash: CrashFact, held: MemoryEvidence, line: Line, node: ast.expr) -> Blame | None:
    """Two tensors whose common shape is as large as what was asked for, and far larger than either."""
    pair = _pair(crash, line, node)
    shape = broadcast(pair[0].shape, pair[1].shape) if pair is not None else None
    if pair is None or shape is None or held.asked_bytes not in [math.prod(shape) * width for width in _WIDTHS]:
        return None
    first, second = pair
    met = f"`{first.name}` {shape_text(first.shape)} with `{second.name}` {shape_text(second.shape)}"
    change, edit = _squeezed(crash, line, node, first, second)
    return Blame(
        message=f"{place_text(crash.place)} makes a tensor {shape_text(shape)} of "
        f"{bytes_text(held.asked_bytes)}: it combines {met}.",
        why="Sizes of 1 are repeated until the shapes agree, so every row meets every row; the machine has "
        "less memory than that.",
        fix=change,
        where=crash.place,
        evidence=_evidence(held, crash)
        | {first.name: shape_text(first.shape), second.name: shape_text(second.shape)},
        confidence=0.97,
        edit=edit,
    )


def _pair(crash: CrashFact, line: Line, node: ast.expr) -> tuple[LocalTensor, LocalTensor] | None:
    operands: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        operands = [node.left, node.comparators[0]]
    elif called(node)[0] in _LOSSES:
        operands = called(node)[1]
    elif _is_loss_layer(crash) and crash.layer is not None and isinstance(node, ast.Call):
        return crash.layer.inputs[0], crash.layer.inputs[1]
    tensors = [tensor for operand in operands if (tensor := line.tensor(operand)) is not None]
    return (tensors[0], tensors[1]) if len(operands) == len(tensors) == 2 else None


def _is_loss_layer(crash: CrashFact) -> bool:
    layer = crash.layer
    return layer is not None and layer.kind in _LOSSES and len(layer.inputs) == 2


def _squeezed(
    crash: CrashFact, line: Line, node: ast.expr, first: LocalTensor, second: LocalTensor
) -> tuple[str, Edit | None]:
    """[N, 1] with [N] is a slip, and has its edit; all pairs on purpose are made in parts."""
    long, flat = (first, second) if len(first.shape) > len(second.shape) else (second, first)
    if long.shape != (*flat.shape, 1):
        return (
            "If each row was meant to meet only its own, give both the same shape. If all pairs are meant, "
            "work on a few rows at a time, so that only a part of them is in memory.",
            None,
        )
    form = f"{flat.name}.unsqueeze(-1)"
    told, edit = change_operand(crash, line, node, flat.name, form)
    return (
        f"Give both the same shape: write `{told}`, which makes `{flat.name}` {shape_text(long.shape)} too.",
        edit,
    )


def _sized(crash: CrashFact, held: MemoryEvidence) -> Blame | None:
    """A call that names the sizes itself: a constructor of a layer, torch.zeros(...)."""
    call, sizes = held.sized_by, held.sizes
    if not call:
        return None
    node = parse_expression(call)
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    if sizes:
        told = f"{place_text(crash.place)} makes a tensor {shape_text(sizes)} of {bytes_text(held.asked_bytes)}"
        return _blame(crash, held, f"{told}: `{call}`.", _advice(call, sizes), 0.97)
    if name not in _FACTORIES:
        return None
    told = f"`{call}` at {place_text(crash.place)} makes a tensor of {bytes_text(held.asked_bytes)}"
    return _blame(crash, held, f"{told}{_values(crash, call)}.", _advice(call), 0.95)


def _values(crash: CrashFact, call: str) -> str:
    """: capacity is 10000000"""
    frame, node = user_frame(crash), parse_expression(call)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)} if node is not None else set()
    held = (
        {value.name: value.text for value in frame.values if value.kind == "int"} if frame is not None else {}
    )
    told = [f"`{name}` is {held[name]}" for name in sorted(names & set(held))]
    return f"; {' and '.join(told)}" if told else ""


def _advice(call: str, sizes: Sequence[int] = ()) -> str:
    node = parse_expression(call)
    name = ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)
    if name in _EVERY_PAIR or product:
        return "Work on a few rows at a time (`x.split(1024)`), and keep of each part only what you need."
    if name == "one_hot":
        return "Look the rows up with `nn.Embedding` instead: it takes the numbers themselves."
    if name == "Linear" and sizes:
        return f"Use fewer features in between: `nn.Linear({sizes[1]}, 512)` has {sizes[1] * 512:,} weights."
    return "Make the sizes smaller, or keep on disk (`numpy.memmap`) what need not be in memory at once."


def _plain(crash: CrashFact, held: MemoryEvidence, line: Line) -> Blame:
    """The operands of the line are known, what it makes of them is not."""
    parts = [part for node in line.nodes() for part in ast.walk(node)]
    tensors = [tensor for part in parts if (tensor := _held(line, part)) is not None]
    named = {tensor.name: shape_text(tensor.shape) for tensor in tensors[:4]}
    of = f" from {' and '.join(f'`{name}` {shape}' for name, shape in named.items())}" if named else ""
    expression, size = held.sized_by or crash.place.code, bytes_text(held.asked_bytes)
    told = f"`{expression}` at {place_text(crash.place)} makes a tensor of {size}{of}."
    return _blame(crash, held, told, _advice(held.sized_by), 0.85)


def _held(line: Line, part: ast.AST) -> LocalTensor | None:
    return line.tensor(part) if isinstance(part, ast.Name | ast.Attribute) else None


def _blame(crash: CrashFact, held: MemoryEvidence, message: str, fix: str, confidence: float) -> Blame:
    return Blame(
        message=message,
        why="A tensor lies in memory as a whole, and the machine has less than that.",
        fix=fix,
        where=crash.place,
        evidence=_evidence(held, crash),
        confidence=confidence,
    )


def _evidence(held: MemoryEvidence, crash: CrashFact) -> dict[str, float | str]:
    return {
        "asked": bytes_text(held.asked_bytes),
        "memory of the machine": bytes_text(held.total_bytes),
        "line": line_text(crash.place),
    }
