"""A gradcheck of the script's own that failed and ended it: what was checked, on which inputs."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any

import torch
from torch.autograd.gradcheck import GradcheckError, gradcheck

from torch_debugger.anatomy.graph_nodes import walk_nodes
from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import class_source, tree_of
from torch_debugger.anatomy.statements import function_around
from torch_debugger.probes.crash_frames import Seen, is_tensor, walk_traceback
from torch_debugger.probes.examiners.reading import UNKNOWN, value_of

_FILE = "torch/autograd/gradcheck.py"
_NODES = 256


@dataclass(frozen=True)
class Gradcheck:
    target: Any  # a Function of the user's own, or whatever else was checked
    inputs: tuple[Any, ...]
    function: type[torch.autograd.Function] | None  # the only one of the user's own in it


def failed_gradcheck(error: BaseException) -> Gradcheck | None:
    """Of a GradcheckError, or of an assert on what gradcheck has returned."""
    frames = walk_traceback(error.__traceback__)
    if is_a(error, GradcheckError):
        inside = [seen.frame.f_locals for seen in frames if seen.file.endswith(_FILE)]
        first = next((names for names in inside if "func" in names and "inputs" in names), None)
        results = next((names["func_out"] for names in inside if "func_out" in names), None)
        return _checked(first["func"], first["inputs"], results) if first is not None else None
    own = [seen for seen in frames if seen.user]
    return _asserted(own[-1]) if is_a(error, AssertionError) and own else None


def _asserted(seen: Seen) -> Gradcheck | None:
    """assert gradcheck(f, inputs, raise_exception=False), or the same by way of a variable."""
    tree = tree_of(seen.file)
    if tree is None:
        return None
    nodes = [
        node
        for node in ast.walk(function_around(tree, seen.line))
        if isinstance(node, (ast.Assert, ast.Assign))
    ]
    asserted = next((node for node in nodes if _is_at(node, seen.line) and isinstance(node, ast.Assert)), None)
    if asserted is None:
        return None
    names = {node.id for node in ast.walk(asserted.test) if isinstance(node, ast.Name)}
    above = [
        node
        for node in nodes
        if isinstance(node, ast.Assign) and node.lineno < seen.line and _binds(node, names)
    ]
    made = max(above, key=lambda node: node.lineno, default=None)
    for part in (asserted.test, *([made.value] if made is not None else [])):
        for call in ast.walk(part):
            if isinstance(call, ast.Call) and value_of(seen, call.func) is gradcheck:
                return _of_call(seen, call)
    return None


def _is_at(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _binds(node: ast.Assign, names: set[str]) -> bool:
    return any(isinstance(target, ast.Name) and target.id in names for target in node.targets)


def _of_call(seen: Seen, call: ast.Call) -> Gradcheck | None:
    if len(call.args) < 2:
        return None
    target, inputs = call.args[:2]
    called = _function(seen, target)
    given = (
        [value_of(seen, each) for each in inputs.elts]
        if isinstance(inputs, ast.Tuple)
        else value_of(seen, inputs)
    )
    if (
        called is UNKNOWN
        or given is UNKNOWN
        or (type(given) is list and any(each is UNKNOWN for each in given))
    ):
        return None
    return _checked(called, given, None)


def _function(seen: Seen, target: ast.expr) -> Any:
    """Swish.apply is kept in no dictionary of Swish."""
    if isinstance(target, ast.Attribute) and target.attr == "apply":
        owner = value_of(seen, target.value)
        if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
            return owner
    return value_of(seen, target)


def _checked(target: Any, inputs: Any, results: Any) -> Gradcheck | None:
    given = tuple(inputs) if is_one_of(inputs, (tuple, list)) else (inputs,)
    owner = getattr(target, "__self__", target)
    if isinstance(owner, type) and issubclass(owner, torch.autograd.Function):
        return Gradcheck(owner, given, owner)
    classes = {kind for kind in _classes_in(results) if class_source(kind) is not None}
    return Gradcheck(target, given, classes.pop() if len(classes) == 1 else None) if callable(target) else None


def _classes_in(results: Any) -> list[type[torch.autograd.Function]]:
    several = results if is_one_of(results, (tuple, list)) else (results,)
    roots = [each.grad_fn for each in several if is_tensor(each) and each.grad_fn is not None]
    nodes = [node for root in roots for node in walk_nodes(root, _NODES)[0]]
    return [node._forward_cls for node in nodes if hasattr(node, "_forward_cls")]
