"""Whether the source proves that a tensor would be on the CPU on a machine with an accelerator too.

The rehearsal runs with flags that this machine has set: `use_cuda` is False here, so a branch that
would move the tensor is not taken. Where the source holds such a way out, nothing is proven.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator

import torch
from torch import nn

from torch_debugger.anatomy.sources import class_source, tree_of

FrameLine = tuple[str, int]  # file, line

_MOVES = frozenset({"to", "cuda", "xpu", "mps", "type", "type_as", "copy_", "data"})
_DEVICES = frozenset({"cuda", "xpu", "mps", "device", "type_as", "accelerator", "is_cuda", "gpu", "use_cuda"})
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign


def is_proven(made_at: FrameLine, used_at: FrameLine) -> bool:
    """Whether the tensor made at one line and used at another could not have been moved."""
    tree = tree_of(made_at[0])
    if tree is None or sets_default_device(tree):
        return False
    statements = [*_statements_at(tree, made_at[1])]
    if not statements or any(_mentions(statement, _DEVICES) for statement in statements):
        return False
    later = [*_other_assignments(tree, made_at[1], _targets(statements[-1]))]
    if any(_mentions(statement, _DEVICES | _MOVES) for statement in later):
        return False
    used_in = tree if used_at[0] == made_at[0] else tree_of(used_at[0])
    passed = [*statements, *later, *(_statements_at(used_in, used_at[1]) if used_in else ())]
    return not any(_calls_a_mover(statement, tree) for statement in passed)


def left_behind(root: nn.Module) -> dict[int, FrameLine]:
    """Plain tensors set in `__init__` that `.to(device)` does not move, with the line that sets each."""
    found: dict[int, FrameLine] = {}
    for module in root.modules():
        for name, value in vars(module).items():
            items = value if isinstance(value, (tuple, list)) else (value,)
            tensors = [item for item in items if isinstance(item, torch.Tensor)]
            line = _constructor_line(type(module), name) if tensors else None
            found |= {id(tensor): line for tensor in tensors if line}
    return found


def sets_default_device(tree: ast.Module) -> bool:
    """Whether tensors made without a device might land on an accelerator after all."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Name, ast.Attribute)) and _name(node) in _DEFAULTS:
            return True
        if isinstance(node, ast.withitem):  # with torch.device(...): or with DEVICE:
            context = node.context_expr
            target = context.func if isinstance(context, ast.Call) else context
            if not isinstance(context, ast.Call) or _name(target) == "device":
                return True
    return False


def _constructor_line(cls: type, attribute: str) -> FrameLine | None:
    """The line of an `__init__` that alone sets this attribute; None where others do, or a device is named."""
    family = {each.__name__ for each in cls.__mro__}
    for source in filter(None, map(class_source, cls.__mro__)):
        file, tree = source[0], tree_of(source[0])
        if tree is None or sets_default_device(tree):
            return None
        assigned = [
            node for node in _outside_other_classes(tree, family) if attribute in _attribute_targets(node)
        ]
        inside = [node for node in _constructor(source[1]) if node in assigned]
        if inside:
            moves = _mentions(assigned[0], _DEVICES | _MOVES) or _calls_a_mover(assigned[0], tree)
            return None if moves or len(assigned) > 1 else (file, assigned[0].lineno)
    return None


def _outside_other_classes(tree: ast.Module, family: set[str]) -> list[_Assignment]:
    others = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name not in family]
    theirs = {id(node) for other in others for node in ast.walk(other)}
    return [node for node in _assignments(tree) if id(node) not in theirs]


def _constructor(cls: ast.ClassDef) -> Iterator[ast.AST]:
    for node in cls.body:
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            yield from ast.walk(node)


def _statements_at(tree: ast.Module, line: int) -> Iterator[ast.stmt]:
    """The simple statement at this line: no block, whose other lines are another matter."""
    statements = (node for node in ast.walk(tree) if isinstance(node, ast.stmt))
    for node in statements:
        if not hasattr(node, "body") and node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node


def _other_assignments(tree: ast.Module, line: int, names: set[str]) -> Iterator[ast.stmt]:
    """Assignments to the same names in the function around this line."""
    around = [
        node for node in ast.walk(tree)
        if isinstance(node, _Function) and node.lineno <= line <= (node.end_lineno or 0)
    ]  # fmt: skip
    scope = around[-1] if around else tree
    for node in _assignments(scope):
        if names & _targets(node) and not node.lineno <= line <= (node.end_lineno or node.lineno):
            yield node


def _assignments(scope: ast.AST) -> Iterator[_Assignment]:
    for node in ast.walk(scope):
        if isinstance(node, _Assignment):
            yield node


def _target_nodes(statement: ast.stmt) -> Iterable[ast.AST]:
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", statement)]
    return (node for target in targets for node in ast.walk(target)) if targets != [statement] else ()


def _targets(statement: ast.stmt) -> set[str]:
    return {_name(node) for node in _target_nodes(statement) if isinstance(node, (ast.Name, ast.Attribute))}


def _attribute_targets(statement: ast.stmt) -> set[str]:
    return {node.attr for node in _target_nodes(statement) if isinstance(node, ast.Attribute)}


def _mentions(node: ast.AST, words: frozenset[str]) -> bool:
    named = (_name(part) for part in ast.walk(node) if isinstance(part, (ast.Name, ast.Attribute, ast.keyword)))
    return any(name in words for name in named)


def _calls_a_mover(statement: ast.stmt, tree: ast.Module) -> bool:
    """Whether a function is called that moves tensors, or might: one that another file defines."""
    functions = [node for node in ast.walk(tree) if isinstance(node, _Function)]
    movers = {node.name for node in functions if _mentions(node, _DEVICES | _MOVES)}
    known = {node.name for node in ast.walk(tree) if isinstance(node, _Function | ast.ClassDef)}
    known |= set(vars(builtins)) | _names_from_torch(tree)
    for call in (node for node in ast.walk(statement) if isinstance(node, ast.Call)):
        unknown = isinstance(call.func, ast.Name) and call.func.id not in known
        if unknown or _name(call.func) in movers:
            return True
    return False


def _names_from_torch(tree: ast.Module) -> set[str]:
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    chosen = [node for node in imports if (node.module or "").split(".")[0] in ("torch", "math", "numpy")]
    return {alias.asname or alias.name for node in chosen for alias in node.names}


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "arg", None) or "")
