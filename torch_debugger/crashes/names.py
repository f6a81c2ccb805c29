"""A name that was asked of a module or object, and the names that exist."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
import importlib.util
import pkgutil
import re
import sys
from types import ModuleType

import torch

from torch_debugger.crashes.expressions import parsed
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor
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

# A bare name that has no value: what is like it in scope, and the lines that would give it one.
_COUNTERS = frozenset({
    "i", "j", "k", "n", "idx", "index", "step", "it", "iteration", "batch", "batch_i", "batch_idx",
    "batch_index", "i_batch", "b",
})  # fmt: skip
_LINES = 4
_BRANCHES = (ast.If, ast.Try, ast.With, ast.For, ast.While)


def examine_variable(crash: LiveCrash) -> NameEvidence | None:
    seen, requested = crash.innermost, getattr(crash.error, "name", None)
    if type(requested) is not str and isinstance(crash.error, UnboundLocalError):
        quoted = re.search(r"'([^']*)'", str(crash.error))
        requested = quoted[1] if quoted else ""
    if seen is None or not seen.user or type(requested) is not str or not requested:
        return None
    module = seen.module()
    owner = seen.frame.f_code.co_varnames[0] if module is not None else ""
    own = vars(module) if module is not None else {}
    if any(
        requested in names for names in (own, *(own.get(kind, {}) for kind in ("_modules", "_parameters", "_buffers")))
    ):
        return NameEvidence(requested, "variable", inner=owner)
    found = NameEvidence(requested, "variable", near=_like(seen, requested))
    local = isinstance(crash.error, UnboundLocalError)
    bound = _bindings(seen, requested)
    if bound:
        places = tuple(Scope(seen).place(node) for node in bound[:_LINES])
        return dataclasses.replace(found, bound=places, binding=_binding(seen, requested, bound, local=local))
    with contextlib.suppress(ImportError, ValueError, AttributeError):
        is_installed = requested in sys.stdlib_module_names or (
            requested.isidentifier() and importlib.util.find_spec(requested)
        )
        if is_installed and not local:
            return dataclasses.replace(found, binding="module")
    return dataclasses.replace(found, loop_name=_counter(seen, requested))


def _like(seen: LiveFrame, requested: str) -> tuple[str, ...]:
    """Names that have a value here and are spelled alike; of short names only the same in another case."""
    pool = [name for name in (*seen.locals, *seen.frame.f_globals) if not name.startswith("__")]
    if len(requested) < 3:
        return tuple(name for name in pool if name.lower() == requested.lower() and name != requested)[:1]
    return nearest(requested, [*pool, *(name for name in vars(builtins) if len(requested) > 3)])


def _bindings(seen: LiveFrame, requested: str) -> list[ast.stmt]:
    """The statements of the function, else of the file, that would give the name its value."""
    tree = tree_of(seen.file)
    for statements in (Scope(seen).statements(), Scope.of_tree(tree) if tree is not None else []):
        found = [node for node in statements if requested in _names_bound(node)]
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
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign | ast.Delete):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign | ast.For):
        targets = [node.target]
    elif isinstance(node, ast.With):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    stored = (part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
    return [part.id for part in stored if isinstance(part.ctx, ast.Store | ast.Del)]


def _binding(seen: LiveFrame, requested: str, bound: list[ast.stmt], *, local: bool) -> str:
    if any(isinstance(node, ast.Delete | ast.Try) for node in bound):
        return "deleted"
    if local and requested in seen.frame.f_globals:
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


def _counter(seen: LiveFrame, requested: str) -> str:
    """What the loops around the line call what `i` or `labels` stands for elsewhere."""
    for loop in Scope(seen).loops():
        if not isinstance(loop, ast.For):
            continue
        names = dict.fromkeys(part.id for part in ast.walk(loop.target) if isinstance(part, ast.Name))
        values = {name: seen.locals.get(name) for name in names}
        if requested in _COUNTERS:
            found = [name for name, value in values.items() if type(value) is int]
        else:
            alike = [words for words in _SAME if requested in words]
            same = {word for words in alike for word in words}
            found = [name for name, value in values.items() if is_tensor(value) and name in same]
        if len(found) == 1:
            return found[0]
    return ""


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


# Imports, variables and old syntax that name what is not there.
def examine_import(crash: LiveCrash) -> NameEvidence | None:
    """`from torch.x import y`, `import torch.x`: torch is asked whether it really lacks the name."""
    error, seen = crash.error, crash.innermost
    if isinstance(error, ModuleNotFoundError):
        name = error.name or ""
        home, _, last = name.rpartition(".")
        top, parent = name.partition(".")[0], sys.modules.get(home)
        if home and is_torchs(home) and is_a(parent, ModuleType):
            names = [*(found.name for found in pkgutil.iter_modules(getattr(parent, "__path__", ()))), *dir(parent)]
            return NameEvidence(last, "import", home, "module", (home,), nearest(last, names))
        missing = bool(top) and sys.modules.get(top) is None and importlib.util.find_spec(top) is None
        return NameEvidence(name, "package", top, "module") if missing else None
    for node in ast.walk(parsed(seen.code)) if seen is not None and seen.user else ():
        home = node.module or "" if isinstance(node, ast.ImportFrom) and not node.level else ""
        module = sys.modules.get(home)
        for requested in (alias.name for alias in node.names) if home and isinstance(node, ast.ImportFrom) else ():
            if is_torchs(home) and is_a(module, ModuleType) and requested not in dir(module):
                near = nearest(requested, dir(module))
                return NameEvidence(requested, "import", home, "module", (home,), near, elsewhere(requested, home))
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
