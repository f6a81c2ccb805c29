"""How source text puts tensors on devices: the words that name one, the functions that move to one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

MOVES = frozenset({"to", "cuda", "xpu", "mps", "type", "type_as", "copy_", "data"})
DEVICES = frozenset({"cuda", "xpu", "mps", "device", "type_as", "accelerator", "is_cuda", "gpu", "use_cuda"})
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})
# None of them puts a tensor on an accelerator unasked.
_KNOWN_LIBRARIES = (
    "torch", "math", "numpy", "random", "itertools", "functools", "collections", "typing", "os", "pathlib",
    "time", "torchvision", "sklearn", "pandas", "PIL", "tqdm", "__future__",
)  # fmt: skip

Function = ast.FunctionDef | ast.AsyncFunctionDef
Assignment = ast.Assign | ast.AnnAssign | ast.AugAssign


def mentions(node: ast.AST, words: frozenset[str]) -> bool:
    named = (
        name_of(part)
        for part in ast.walk(node)
        if isinstance(part, ast.Name | ast.Attribute | ast.keyword) and not _is_package(part)
    )
    return any(name in words for name in named)


def _is_package(node: ast.AST) -> bool:
    """torch.utils.data, whose last part is none of a tensor's"""
    return isinstance(node, ast.Attribute) and node.attr == "data" and name_of(node.value) == "utils"


def calls_a_mover(node: ast.AST, tree: ast.Module, harmless: Collection[str] = ()) -> bool:
    """Whether a function is called that moves tensors, or might: one that another file defines."""
    movers = {each.name for each in _functions(tree) if mentions(each, DEVICES | MOVES)}
    known, foreign = known_names(tree).union(harmless), _imported(tree, known=False)
    for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
        unknown = isinstance(call.func, ast.Name) and call.func.id not in known
        if unknown or name_of(call.func) in movers or _root(call.func) in foreign:
            return True
    return False


def sets_default_device(tree: ast.Module) -> bool:
    """Whether tensors made without a device might land on an accelerator after all."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and name_of(node) in _DEFAULTS:
            return True
        if isinstance(node, ast.withitem):  # with torch.device(...): or with DEVICE:
            context = node.context_expr
            if not isinstance(context, ast.Call) or name_of(context.func) == "device":
                return True
    return False


def known_names(tree: ast.Module) -> set[str]:
    """Functions, classes and modules whose part in this is known, or that have none."""
    defined = {node.name for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)}
    return defined | _imported(tree, known=True) | set(vars(builtins))


def _imported(tree: ast.Module, known: bool) -> set[str]:
    """The names a file imports: from libraries that are known, or from elsewhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                source = (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
                if (source.split(".")[0] in _KNOWN_LIBRARIES) == known:
                    names.add(alias.asname or alias.name.split(".")[0])
    return names


def _root(node: ast.AST) -> str:
    """The first name of a chain: helpers in helpers.devices.move"""
    while isinstance(node, ast.Attribute):
        node = node.value
    return name_of(node) if isinstance(node, ast.Name) else ""


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def function_around(tree: ast.Module, line: int) -> Function | None:
    """The innermost function that holds this line."""
    holding = [node for node in _functions(tree) if node.lineno <= line <= (node.end_lineno or 0)]
    return max(holding, key=lambda node: node.lineno, default=None)


def parameters(function: Function) -> list[str]:
    arguments = function.args
    return [each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def assignments(scope: ast.AST) -> Iterator[Assignment]:
    return (node for node in ast.walk(scope) if isinstance(node, Assignment))


def targets(assignment: Assignment) -> list[ast.Name | ast.Attribute]:
    given = assignment.targets if isinstance(assignment, ast.Assign) else [assignment.target]
    return [node for target in given for node in ast.walk(target) if isinstance(node, ast.Name | ast.Attribute)]


def name_of(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "arg", None) or "")
