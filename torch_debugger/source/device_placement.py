"""Whether a script itself chooses or names an accelerator: read from its source, without running it."""

from __future__ import annotations

import ast
import builtins
import os
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from torch_debugger.source.syntax import (
    FunctionNode,
    argument_of,
    called_name,
    calls_in,
    dotted,
    function_in,
    parameters,
    targets_of,
)

_NAMES = frozenset({"cuda", "mps", "xpu", "accelerator", "is_cuda", "current_accelerator"})
_DEVICE_TEXT = re.compile(r"(cuda|mps|xpu|hpu|npu|gpu)(:\d+)?")
_MOST_FILES = 30
_LARGEST_FILE_BYTES = 1_000_000


def names_accelerator(script_path: str, argv: Sequence[str], cwd: str) -> bool:
    """Whether the script, a module it imports from its own folder, or its command line does so."""
    if any(_DEVICE_TEXT.fullmatch(part) for word in argv for part in word.lower().split("=")):
        return True
    return any(_chooses(tree) for tree in _trees(os.path.join(cwd, script_path)))


def _trees(script: str) -> Iterator[ast.Module]:
    """The script's syntax tree, then those of its own modules, each once."""
    folder = os.path.dirname(script)
    waiting, seen = [script], {script}
    while waiting and len(seen) <= _MOST_FILES:
        tree = _parse(waiting.pop(0))
        if tree is None:
            continue
        yield tree
        found = [path for name in _imported(tree) for path in _files_of(folder, name) if path not in seen]
        waiting += found
        seen.update(found)


def _parse(path: str) -> ast.Module | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _LARGEST_FILE_BYTES:
            return None
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            yield base
            yield from (f"{base}.{alias.name}".lstrip(".") for alias in node.names)


def _files_of(folder: str, module: str) -> Iterator[str]:
    stem = os.path.join(folder, *module.split("."))
    for path in (stem + ".py", os.path.join(stem, "__init__.py")):
        if module and os.path.isfile(path):
            yield path


def _chooses(tree: ast.Module) -> bool:
    plain_text = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    return any(is_choice(node) for node in ast.walk(tree) if id(node) not in plain_text)


def is_choice(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name in _NAMES
        case ast.Constant(value=str(text)):
            return _DEVICE_TEXT.fullmatch(text) is not None
    return False


# How source text puts tensors on devices: the words that name one, the functions that move to one.
MOVES = frozenset({"to", "cuda", "xpu", "mps", "type", "type_as", "copy_", "data"})
DEVICES = frozenset({"cuda", "xpu", "mps", "device", "type_as", "accelerator", "is_cuda", "gpu", "use_cuda"})
_DEFAULTS = frozenset({"set_default_device", "set_default_tensor_type"})
# None of them puts a tensor on an accelerator unasked.
_KNOWN_LIBRARIES = (
    "torch", "math", "numpy", "random", "itertools", "functools", "collections", "typing", "os", "pathlib",
    "time", "torchvision", "sklearn", "pandas", "PIL", "tqdm", "__future__",
)  # fmt: skip

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
    functions = [each for each in ast.walk(tree) if isinstance(each, FunctionNode)]
    movers = {each.name for each in functions if mentions(each, DEVICES | MOVES)}
    known, foreign = known_names(tree).union(harmless), _imported_names(tree, known=False)
    for call in calls_in(node):
        unknown = isinstance(call.func, ast.Name) and call.func.id not in known
        if unknown or called_name(call) in movers or dotted(call.func).partition(".")[0] in foreign:
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
    defined = {node.name for node in ast.walk(tree) if isinstance(node, FunctionNode | ast.ClassDef)}
    return defined | _imported_names(tree, known=True) | set(vars(builtins))


def _imported_names(tree: ast.Module, known: bool) -> set[str]:
    """The names a file imports: from libraries that are known, or from elsewhere."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                source = (node.module or "") if isinstance(node, ast.ImportFrom) else alias.name
                if (source.split(".")[0] in _KNOWN_LIBRARIES) == known:
                    names.add(alias.asname or alias.name.split(".")[0])
    return names


def assignments(scope: ast.AST) -> Iterator[Assignment]:
    return (node for node in ast.walk(scope) if isinstance(node, Assignment))


def targets(assignment: Assignment) -> list[ast.Name | ast.Attribute]:
    parts = [node for target in targets_of(assignment) for node in ast.walk(target)]
    return [node for node in parts if isinstance(node, ast.Name | ast.Attribute)]


def name_of(node: ast.AST) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "id", None) or getattr(node, "arg", None) or "")


# Whether the value of an expression was never put on a device: its names are followed back.

# What these are given are sizes and bounds: where those come from decides nothing.
_MAKERS = frozenset({
    "arange", "empty", "eye", "full", "linspace", "logspace", "ones", "rand", "randint", "randn", "randperm",
    "tril_indices", "triu_indices", "zeros",
})  # fmt: skip


@dataclass
class Following:
    """One expression followed through the files of a script."""

    trees: list[ast.Module]  # the file of the expression, then the script itself
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def untouched(self, expression: ast.AST, tree: ast.Module, line: int) -> bool:
        """True only if every value that comes in is known, and none was moved."""
        if mentions(expression, DEVICES | MOVES) or calls_a_mover(expression, tree):
            return False
        around = function_in(tree, line)
        return all(self.name_untouched(name, tree, around) for name in _names(expression))

    def name_untouched(self, name: str, tree: ast.Module, around: FunctionNode | None) -> bool:
        if (id(around), name) in self._seen or name in known_names(tree):
            return True
        self._seen.add((id(around), name))
        values = [*_values(name, around if around is not None else tree)]
        if values:
            return all(self.untouched(value, tree, value.lineno) for value in values)
        if around is None:
            return False
        if name in parameters(around):
            return self._argument_untouched(name, around)
        return self.name_untouched(name, tree, None)

    def _argument_untouched(self, name: str, function: FunctionNode) -> bool:
        """What the script passes for this parameter of a function, or of a class's `__init__`, in all calls."""
        arguments = [
            (argument, tree)
            for tree in self.trees
            for call in calls_of(tree, self.trees[0], function)
            if (argument := argument_of(call, function, name)) is not None
        ]
        return bool(arguments) and all(self.untouched(value, tree, value.lineno) for value, tree in arguments)


def _names(expression: ast.AST) -> Iterator[str]:
    """The names an expression reads, but for those that only give a size, or that it binds itself."""
    if isinstance(expression, ast.Call) and name_of(expression.func) in _MAKERS:
        return
    if isinstance(expression, ast.Name) and isinstance(expression.ctx, ast.Load):
        yield expression.id
    bound = {name_of(each.target) for each in getattr(expression, "generators", ())}
    for child in ast.iter_child_nodes(expression):
        yield from (name for name in _names(child) if name not in bound)


def _values(name: str, scope: ast.AST) -> Iterator[ast.expr]:
    own = _outside_functions(scope, name) if isinstance(scope, ast.Module) else assignments(scope)
    for assignment in own:
        names = {target.id for target in targets(assignment) if isinstance(target, ast.Name)}
        if name in names and assignment.value is not None:
            yield assignment.value


def _outside_functions(node: ast.AST, name: str) -> Iterator[Assignment]:
    """Of a file's own variable: a function's variable of that name is another one, unless it says `global`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, FunctionNode):
            declared = [each for each in ast.walk(child) if isinstance(each, ast.Global)]
            yield from assignments(child) if any(name in each.names for each in declared) else ()
            continue
        if isinstance(child, Assignment):
            yield child
        yield from _outside_functions(child, name)


def calls_of(tree: ast.Module, home: ast.Module, function: FunctionNode) -> Iterator[ast.Call]:
    """The calls of a function in this file; of an `__init__` those that make an object of its class."""
    owners = {node.name for node in ast.walk(home) if isinstance(node, ast.ClassDef) and function in node.body}
    names = owners if function.name == "__init__" else {function.name}
    yield from calls_in(tree, *names) if names else ()
