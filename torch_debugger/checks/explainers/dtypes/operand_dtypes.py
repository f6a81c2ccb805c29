"""Functions and operators of the user's line that were given a tensor of the wrong dtype."""

from __future__ import annotations

import ast
from dataclasses import replace

from torch_debugger.checks.explainers.blame import Blame, line_text, place_text
from torch_debugger.checks.explainers.calls import parse_expression, rewritten
from torch_debugger.checks.explainers.dtypes.casts import cast_to, is_floating, numpy_hint
from torch_debugger.checks.explainers.expressions import Line, called, explain_nodes, number, two_tensors
from torch_debugger.checks.explainers.operands import change_operand
from torch_debugger.checks.explainers.shapes.product_shapes import product_of
from torch_debugger.checks.explainers.statements import statement_at
from torch_debugger.records import CrashFact, LocalTensor

_INTO = ("scatter", "scatter_", "scatter_add", "scatter_add_", "index_add", "index_add_", "index_copy_")
_INDEX, _MASK, _FLOATING = "indices of dtype int64", "a mask of dtype bool", "floating-point numbers"
_WANTED = {_INDEX: "int64", _MASK: "bool", _FLOATING: "float32"}
# function -> (which operand, what it must be)
_STRICT = {
    "gather": (2, _INDEX), "index_select": (2, _INDEX), "scatter": (2, _INDEX), "scatter_add": (2, _INDEX),
    "scatter_": (2, _INDEX), "scatter_add_": (2, _INDEX), "index_add": (2, _INDEX), "index_add_": (2, _INDEX),
    "take_along_dim": (1, _INDEX), "one_hot": (0, _INDEX), "embedding": (0, _INDEX),
    "masked_fill": (1, _MASK), "masked_fill_": (1, _MASK), "masked_select": (1, _MASK), "where": (0, _MASK),
    "mean": (0, _FLOATING), "std": (0, _FLOATING), "var": (0, _FLOATING), "softmax": (0, _FLOATING),
    "log_softmax": (0, _FLOATING),
}  # fmt: skip


def explain_operand_dtypes(crash: CrashFact) -> Blame | None:
    return explain_nodes(
        crash,
        lambda line, node: (
            _product(crash, line, node)
            or _strict(crash, line, node)
            or _source(crash, line, node)
            or _subtracted(crash, line, node)
            or _index(crash, line, node)
        ),
        kinds=("RuntimeError", "IndexError", "NotImplementedError"),
    ) or explain_nodes(
        crash, lambda line, node: _inverted(crash, line, node), kinds=("RuntimeError", "TypeError")
    )


def _product(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    tensors = two_tensors(line, product_of(node)[1])
    if tensors is None or tensors[0].dtype == tensors[1].dtype or not (tensors[0].dtype and tensors[1].dtype):
        return None
    # float32 is torch's own default: whatever differs from it is the odd one.
    odd, other = tensors if tensors[1].dtype == "float32" else tensors[::-1]
    message = f"multiplies {tensors[0].dtype} by {tensors[1].dtype}: `{odd.name}` is {odd.dtype}"
    why = f"A matrix product needs one dtype on both sides{numpy_hint(odd.dtype)}."
    return _blame(crash, line, node, odd, other.dtype, message, why)


def _strict(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    name, operands = called(node)
    position, wanted = _STRICT.get(name, (0, ""))
    tensor = line.tensor(operands[position]) if wanted and len(operands) > position else None
    converts = isinstance(node, ast.Call) and any(word.arg == "dtype" for word in node.keywords)
    if tensor is None or not tensor.dtype or converts or _accepts(wanted, tensor.dtype):
        return None
    message = f"wants {wanted}, but `{tensor.name}` is {tensor.dtype}"
    return _blame(crash, line, node, tensor, _WANTED[wanted], message, f"{name} takes {wanted} here.")


def _source(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """What is put into a tensor: scatter_(1, index, source), index_add_(0, index, source)."""
    name, operands = called(node)
    if name not in _INTO or len(operands) < 4 or "type" not in crash.message:
        return None
    held, source = line.tensor(operands[0]), line.tensor(operands[3])
    if held is None or source is None or held.dtype == source.dtype or not (held.dtype and source.dtype):
        return None
    message = f"puts {source.dtype} values, `{source.name}`, into `{held.name}`, which is {held.dtype}"
    why = f"{name} copies values without converting them, so both need one dtype."
    return _blame(crash, line, node, source, held.dtype, message, why)


def _subtracted(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    """1 - mask, mask - mask: booleans cannot be subtracted."""
    if (
        not isinstance(node, ast.BinOp)
        or not isinstance(node.op, ast.Sub)
        or "Subtraction" not in crash.message
    ):
        return None
    sides = [line.tensor(node.left), line.tensor(node.right)]
    masks = [tensor for tensor in sides if tensor is not None and tensor.dtype == "bool"]
    if not masks:
        return None
    why = "Booleans cannot be subtracted: `~` inverts a mask, `^` tells where two differ."
    message = f"subtracts, and `{masks[-1].name}` is bool"
    blame = _blame(crash, line, node, masks[-1], "float32", message, why)
    written = {2: f"{masks[0].name} ^ {masks[-1].name}", 1: f"~{masks[-1].name}"}[len(masks)]
    plain = all(mask.name.isidentifier() for mask in masks)
    if not plain or (len(masks) == 1 and number(node.left) != 1):
        return blame
    before, whole = line.written(node), statement_at(crash, crash.place).whole
    return replace(
        blame, fix=f"Write `{written}` instead of `{before}`.", edit=rewritten(whole, before, written)
    )


def _accepts(wanted: str, dtype: str) -> bool:
    if wanted == _INDEX:
        return dtype in ("int64", "int32")
    return dtype in ("bool", "uint8") if wanted == _MASK else is_floating(dtype) or dtype.startswith("complex")


def _index(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if not isinstance(node, ast.Subscript) or line.tensor(node.value) is None:
        return None
    tensor = line.tensor(node.slice)
    if tensor is None or not is_floating(tensor.dtype):
        return None
    held = line.tensor(node.value)
    covers = held is not None and len(tensor.shape) > 1 and tensor.shape == held.shape[: len(tensor.shape)]
    wanted = _MASK if covers or "mask" in tensor.name else _INDEX
    message = f"wants {wanted}, but `{tensor.name}` is {tensor.dtype}"
    why = "A tensor inside square brackets picks elements by their numbers (int64) or by a mask (bool)."
    return _blame(crash, line, node, tensor, _WANTED[wanted], message, why)


def _inverted(crash: CrashFact, line: Line, node: ast.expr) -> Blame | None:
    if not isinstance(node, ast.UnaryOp) or not isinstance(node.op, ast.Invert):
        return None
    tensor = line.tensor(node.operand)
    if tensor is None or not is_floating(tensor.dtype):
        return None
    message = f"inverts `{tensor.name}`, which is {tensor.dtype}; `~` wants {_MASK}"
    return _blame(
        crash, line, node, tensor, "bool", message, "`~` turns true into false, so it takes booleans."
    )


def _blame(
    crash: CrashFact, line: Line, node: ast.expr, odd: LocalTensor, wanted: str, message: str, why: str
) -> Blame:
    operand, form = _converted(line.source(node), odd.name, cast_to(wanted))
    edit = change_operand(crash, line, node, operand, form)[1]
    return Blame(
        message=f"`{line.source(node)}` at {place_text(crash.place)} {message}.",
        why=why,
        fix=f"Convert it: write `{form}` instead of `{operand or odd.name}`.",
        where=crash.place,
        evidence={odd.name: odd.dtype, "expected": wanted, "line": line_text(crash.place)},
        confidence=0.95,
        edit=edit,
    )


def _converted(expression: str, operand: str, cast: str) -> tuple[str, str]:
    """What to replace by what; an operator's result keeps the parentheses it stands in."""
    node = parse_expression(operand)
    if not isinstance(node, ast.BinOp | ast.Compare | ast.UnaryOp):
        return operand, f"{operand}{cast}"
    method = expression.removeprefix(f"({operand}).")
    return (expression, f"({operand}){cast}.{method}") if method != expression else ("", f"({operand}){cast}")
