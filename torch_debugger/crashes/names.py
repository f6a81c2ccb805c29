"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor
from torch_debugger.crashes.functions import LOOPS, Scope
from torch_debugger.crashes.names_of_torch import (
    elsewhere,
    examine_attribute,
    examine_call,
    examine_number,
    examine_removed,
    is_torchs,
    nearest,
    our_names,
)
from torch_debugger.records.crash import NameEvidence
from torch_debugger.source.files import covers, is_user_file, place_at, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import targets_of

# A bare name that has no value: what is like it in scope, and the lines that would give it one.
_COUNTERS = frozenset({
    "i", "j", "k", "n", "idx", "index", "step", "it", "iteration", "batch", "batch_i", "batch_idx",
    "batch_index", "i_batch", "b",
})  # fmt: skip
_LINES = 4
_BRANCHES = (ast.If, ast.Try, ast.With, ast.For, ast.While)


def examine_variable(crash: LiveCrash) -> NameEvidence | None:
    seen, asked = crash.innermost, getattr(crash.error, "name", None)
    if type(asked) is not str and isinstance(crash.error, UnboundLocalError):
        asked = _quoted(str(crash.error))
    if seen is None or not seen.user or type(asked) is not str or not asked:
        return None
    module = seen.module()
    owner = seen.frame.f_code.co_varnames[0] if module is not None else ""
    if module is not None and _has(module, asked):
        return NameEvidence(asked, "variable", inner=owner)
    found = NameEvidence(asked, "variable", near=_like(seen, asked))
    local = isinstance(crash.error, UnboundLocalError)
    bound = _bindings(seen, asked)
    if bound:
        places = tuple(Scope(seen).place(node) for node in bound[:_LINES])
        return dataclasses.replace(found, bound=places, binding=_binding(seen, asked, bound, local=local))
    if not local and (asked in sys.stdlib_module_names or _is_installed(asked)):
        return dataclasses.replace(found, binding="module")
    return dataclasses.replace(found, loop_name=_counter(seen, asked))


def _quoted(message: str) -> str:
    parts = message.split("'")
    return parts[1] if len(parts) > 2 else ""


def _has(module: nn.Module, name: str) -> bool:
    held = vars(module)
    parts = (held, held.get("_modules", {}), held.get("_parameters", {}), held.get("_buffers", {}))
    return any(name in part for part in parts)


def _like(seen: Seen, asked: str) -> tuple[str, ...]:
    """Names that have a value here and are spelled alike; of short names only the same in another case."""
    pool = [name for name in (*seen.locals, *seen.frame.f_globals) if not name.startswith("__")]
    if len(asked) < 3:
        return tuple(name for name in pool if name.lower() == asked.lower() and name != asked)[:1]
    return nearest(asked, [*pool, *(name for name in vars(builtins) if len(asked) > 3)])


def _bindings(seen: Seen, asked: str) -> list[ast.stmt]:
    """The statements of the function, else of the file, that would give the name its value."""
    tree = tree_of(seen.file)
    scopes = [Scope(seen).statements()] + ([Scope.of_tree(tree)] if tree is not None else [])
    for statements in scopes:
        found = [node for node in statements if asked in _names_bound(node)]
        if found:
            return sorted(found, key=lambda node: node.lineno)
    return []


def _names_bound(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.Try):
        return [handler.name for handler in node.handlers if handler.name]
    targets = node.targets if isinstance(node, ast.Delete) else targets_of(node)
    stored = (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
    return [part.id for part in stored if isinstance(part.ctx, ast.Store | ast.Del)]


def _binding(seen: Seen, asked: str, bound: list[ast.stmt], *, local: bool) -> str:
    if any(isinstance(node, ast.Delete | ast.Try) for node in bound):
        return "deleted"
    if local and asked in seen.frame.f_globals:
        return "global"
    if all(isinstance(node, ast.AugAssign) for node in bound):
        return "augmented"
    above = [node for node in bound if node.lineno < seen.line and not isinstance(node, ast.AugAssign)]
    if not above:
        return "below"
    scope = Scope(seen)
    around = [node for node in ast.walk(scope.function) if isinstance(node, _BRANCHES) and not covers(node, seen.line)]
    for node in above:
        outside = [each for each in around if covers(each, node.lineno)]
        if any(isinstance(each, LOOPS) for each in outside) or isinstance(node, LOOPS):
            return "loop"
        if outside:
            return "branch"
    return "below"


def _is_installed(name: str) -> bool:
    try:
        return name.isidentifier() and importlib.util.find_spec(name) is not None
    except (ImportError, ValueError, AttributeError):
        return False


def _counter(seen: Seen, asked: str) -> str:
    """What the loops around the line call what `i` or `labels` stands for elsewhere."""
    for loop in Scope(seen).loops():
        if not isinstance(loop, ast.For):
            continue
        named = list(_loop_names(loop))
        held = {name: seen.locals.get(name) for name in named}
        if asked in _COUNTERS:
            counters = [name for name, value in held.items() if type(value) is int]
            if len(counters) == 1:
                return counters[0]
            continue
        same = [name for name, value in held.items() if _mean_the_same(asked, name, value)]
        if len(same) == 1:
            return same[0]
    return ""


def _loop_names(loop: ast.For) -> Iterator[str]:
    yield from (part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name))


_SAME: tuple[frozenset[str], ...] = (
    frozenset({"labels", "label", "target", "targets", "y", "yb", "y_batch", "batch_y"}),
    frozenset(
        {
            "images",
            "image",
            "img",
            "imgs",
            "inputs",
            "input",
            "data",
            "x",
            "xb",
            "x_batch",
            "batch_x",
            "features",
        }
    ),
)


def _mean_the_same(asked: str, name: str, value: Any) -> bool:
    return is_tensor(value) and any(asked in words and name in words for words in _SAME)


# Imports, variables and old syntax that name what is not there.
def examine_import(crash: LiveCrash) -> NameEvidence | None:
    """`from torch.x import y`, `import torch.x`: torch is asked whether it really lacks the name."""
    error = crash.error
    if isinstance(error, ModuleNotFoundError):
        return _absent_module(error.name or "")
    seen = crash.innermost
    if seen is None or not seen.user:
        return None
    for home, asked in _imported(seen.code):
        module = sys.modules.get(home)
        if is_torchs(home) and is_a(module, ModuleType) and asked not in dir(module):
            near = nearest(asked, dir(module))
            return NameEvidence(asked, "import", home, "module", (home,), near, elsewhere(asked, home))
    return None


def _imported(code: str) -> Iterator[tuple[str, str]]:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield from ((node.module, alias.name) for alias in node.names)


def _absent_module(name: str) -> NameEvidence | None:
    home, _, last = name.rpartition(".")
    top = name.partition(".")[0]
    parent = sys.modules.get(home)
    if home and is_torchs(home) and is_a(parent, ModuleType):
        names = [*(found.name for found in pkgutil.iter_modules(getattr(parent, "__path__", ()))), *dir(parent)]
        return NameEvidence(last, "import", home, "module", (home,), nearest(last, names))
    if top and sys.modules.get(top) is None and importlib.util.find_spec(top) is None:
        return NameEvidence(name, "package", top, "module")
    return None


def examine_syntax(crash: LiveCrash) -> NameEvidence | None:
    """`async` became a word of Python's own in 3.7; torch's argument of that name had gone before."""
    error = crash.error
    file, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    if type(file) is not str or type(line) is not int or not is_user_file(file):
        return None
    place = place_at(file, line)
    if "async=" not in (place.code or "").replace(" ", ""):
        return None
    return NameEvidence("async", "syntax", "torch.Tensor.cuda", "function", place=place)


_EXAMINERS = {
    AttributeError: examine_attribute,
    ImportError: examine_import,
    TypeError: examine_call,
    NameError: examine_variable,
    SyntaxError: examine_syntax,
    RuntimeError: examine_removed,
    IndexError: examine_number,
}


def examine_names(crash: LiveCrash) -> NameEvidence | None:
    """By the class of the exception; only for names of torch, of its objects, and of the user's modules."""
    for kind, examine in _EXAMINERS.items():
        if is_a(crash.error, kind):
            found = examine(crash)
            version = torch.__version__.partition("+")[0]
            return dataclasses.replace(found, ours=our_names(), version=version) if found is not None else None
    return None
