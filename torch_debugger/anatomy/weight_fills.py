"""The line that fills a weight by hand: nn.init.constant_(layer.weight, 0.1), nn.init.normal_(layer.weight)."""

from __future__ import annotations

import ast

from torch import nn

from torch_debugger.anatomy.sources import nodes_of, place_at, tree_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.records import Place

_CONSTANT = ("constant_", "zeros_", "ones_", "fill_", "zero_", "full_")
_RANDOM = (
    "normal_", "uniform_", "trunc_normal_", "xavier_normal_", "xavier_uniform_", "kaiming_normal_",
    "kaiming_uniform_", "orthogonal_", "mul_",
)  # fmt: skip


def constant_fill(module: nn.Module, attribute: str, file: str | None) -> Place | None:
    """The first call of the file that fills weights; else the line of the class that makes the parameter."""
    return _first_fill(file, _CONSTANT) or attribute_place(type(module), attribute)


def random_fill(file: str | None) -> Place | None:
    return _first_fill(file, _RANDOM)


def drawn_leaf(file: str | None) -> Place | None:
    """The first torch.randn(..., requires_grad=True) or the like: a weight that belongs to no module."""
    tree = tree_of(file) if file else None
    nodes = nodes_of(tree) if tree else ()
    statements = [node for node in nodes if isinstance(node, (ast.Assign, ast.Expr))]
    lines = sorted(node.lineno for node in statements if _draws_leaf(node))
    return place_at(file, lines[0]) if file and lines else None


def _draws_leaf(statement: ast.stmt) -> bool:
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    drawn = any(ast.unparse(call.func).rpartition(".")[2] in ("randn", "rand", "normal") for call in calls)
    return drawn and "requires_grad" in ast.unparse(statement)


def _first_fill(file: str | None, names: tuple[str, ...]) -> Place | None:
    tree = tree_of(file) if file else None
    calls = [node for node in nodes_of(tree) if _fills_weights(node, names)] if tree is not None else []
    lines = sorted(call.lineno for call in calls if isinstance(call, ast.Call))
    return place_at(file, lines[0]) if file and lines else None


def _fills_weights(node: ast.AST, names: tuple[str, ...]) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute | ast.Name):
        return False
    called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
    text = ast.unparse(node)
    return called in names and "bias" not in text and "grad" not in text
