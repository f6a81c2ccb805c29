"""Expressions of the user's that give a tensor without its graph: `out.detach()`, `loss.item()`, `x > 0`."""

from __future__ import annotations

import ast
from dataclasses import dataclass

_METHODS = {
    "detach": "detach", "item": "item", "tolist": "item", "numpy": "numpy", "long": "integer", "int": "integer",
    "bool": "integer", "argmax": "integer", "argmin": "integer", "argsort": "integer", "nonzero": "integer",
    "multinomial": "integer", "bernoulli": "integer", "bincount": "integer", "gt": "integer", "lt": "integer",
    "ge": "integer", "le": "integer", "eq": "integer", "ne": "integer",
}  # fmt: skip
_FUNCTIONS = {
    "torch.tensor": "tensor", "torch.FloatTensor": "tensor", "torch.Tensor": "tensor", "Tensor": "tensor",
    "torch.from_numpy": "numpy", "float": "item",
}  # fmt: skip
_NUMPY = ("np.", "numpy.")


@dataclass(frozen=True)
class SourceCut:
    node: ast.expr
    reason: str
    inner: ast.expr  # what it was taken of


def cut_of(node: ast.AST) -> SourceCut | None:
    """The cut that this very expression makes, if it makes one."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return SourceCut(node, "data", node.value)
    if isinstance(node, ast.Compare):
        return SourceCut(node, "integer", node.left)
    if not isinstance(node, ast.Call):
        return None
    function = ast.unparse(node.func)
    if function.endswith("autograd.grad") and node.args and not _keeps_graph(node):
        return SourceCut(node, "grad", node.args[0])
    if function in _FUNCTIONS and node.args:
        return SourceCut(node, _FUNCTIONS[function], node.args[0])
    if function.startswith(_NUMPY) and node.args:
        return SourceCut(node, "numpy", node.args[0])
    reason = _METHODS.get(function.rpartition(".")[2], "") if isinstance(node.func, ast.Attribute) else ""
    if not reason or not isinstance(node.func, ast.Attribute):
        return None
    inner = node.args[0] if ast.unparse(node.func.value) == "torch" and node.args else node.func.value
    return SourceCut(node, reason, inner)


def _keeps_graph(call: ast.Call) -> bool:
    return any(word.arg in ("create_graph", None) for word in call.keywords)


def cuts_in(node: ast.AST) -> list[SourceCut]:
    """The cuts of an expression, the outermost first."""
    return [cut for part in ast.walk(node) if (cut := cut_of(part)) is not None]


def core_of(node: ast.expr) -> ast.expr:
    """What is left when all cuts around it are taken off: `loss` of torch.tensor(loss.detach().item())"""
    cut = cut_of(node)
    return core_of(cut.inner) if cut is not None and cut.reason not in ("integer", "grad") else node


def is_conversion(node: ast.expr) -> bool:
    """Whether a cut only changes the form of its core: numpy's own functions compute something."""
    cut = cut_of(node)
    if cut is None or cut.reason in ("integer", "grad"):
        return cut is None
    computes = isinstance(node, ast.Call) and ast.unparse(node.func).startswith(_NUMPY)
    return not computes and is_conversion(cut.inner)


def switched_off(node: ast.AST) -> bool:
    """A decorator or a context that turns recording off: torch.no_grad(), torch.inference_mode"""
    text = ast.unparse(node).replace("()", "").replace("(True)", "")
    return text.rpartition(".")[2] in ("no_grad", "inference_mode") or text.endswith("set_grad_enabled(False)")
