"""Imports, variables and old syntax that name what is not there."""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.probes.examiners.name_search import elsewhere, is_torchs, nearest
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import NameEvidence


def examine_import(scene: Scene) -> NameEvidence | None:
    """`from torch.x import y`, `import torch.x`: torch is asked whether it really lacks the name."""
    error = scene.error
    if isinstance(error, ModuleNotFoundError):
        return _absent_module(error.name or "")
    seen = scene.innermost
    if seen is None or not seen.user:
        return None
    for home, asked in _imported(statement_at(seen.file, seen.line)[1]):
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


def examine_syntax(scene: Scene) -> NameEvidence | None:
    """`async` became a word of Python's own in 3.7; torch's argument of that name had gone before."""
    error = scene.error
    file, line = getattr(error, "filename", None), getattr(error, "lineno", None)
    if type(file) is not str or type(line) is not int or not is_user_file(file):
        return None
    place = place_at(file, line)
    if "async=" not in (place.code or "").replace(" ", ""):
        return None
    return NameEvidence("async", "syntax", "torch.Tensor.cuda", "function", place=place)
