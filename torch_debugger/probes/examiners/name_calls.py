"""Calls of torch's functions and classes with a keyword they do not take, or of what cannot be called."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import torch

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_source import failing_expression, statement_at
from torch_debugger.probes.examiners.name_search import elsewhere, is_torchs, lineage, nearest, public_name
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence import NameEvidence

_MISSING = object()
_UNCALLABLE = re.compile(r"'[\w.]+' object is not (callable|subscriptable)$")


def examine_call(scene: Scene) -> NameEvidence | None:
    seen, text = scene.user_frame, str(scene.error)
    if seen is None:
        return None
    if _UNCALLABLE.search(text) and scene.innermost is seen:
        return _wrong_use(seen, "callable" in text)
    if "unexpected keyword" in text or "invalid combination" in text or "missing" in text:
        calls = [(node, _callee(node.func, seen, text)) for node in _calls(seen)]
        known = [
            (node, callee) for node, callee in calls if callee is not _MISSING and _is_torchs(callee, node)
        ]
        return next((found for node, callee in known if (found := _refused(node, callee, text))), None)
    return None


def _expressions(seen: Seen) -> Iterator[ast.expr]:
    """The expression that raised; where Python cannot tell, all of the statement."""
    failing = failing_expression(seen.frame.f_code, seen.instruction)
    code = failing or statement_at(seen.file, seen.line)[1]
    for text in (code, f"{code}\n pass", f"if True: pass\n{code}\n pass"):
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        yield from (node for node in ast.walk(tree) if isinstance(node, ast.expr))
        return


def _calls(seen: Seen) -> list[ast.Call]:
    return [node for node in _expressions(seen) if isinstance(node, ast.Call)]


def _resolved(node: ast.expr, seen: Seen) -> Any:
    """What a dotted name stands for in the frame; nothing is called, and no property is asked."""
    if isinstance(node, ast.Name):
        return seen.frame.f_locals.get(node.id, seen.frame.f_globals.get(node.id, _MISSING))
    if not isinstance(node, ast.Attribute):
        return _MISSING
    owner = _resolved(node.value, seen)
    if owner is _MISSING:
        return _MISSING
    if is_a(owner, (ModuleType, type)) or not hasattr(type(owner), node.attr):
        return inspect.getattr_static(owner, node.attr, _MISSING)
    return inspect.getattr_static(type(owner), node.attr, _MISSING)


def _callee(node: ast.expr, seen: Seen, text: str) -> Any:
    """What is called; of a method of an expression's value, torch's own words tell that it is a tensor's."""
    found = _resolved(node, seen)
    if found is not _MISSING or not isinstance(node, ast.Attribute):
        return found
    spoken = text.startswith((f"Tensor.{node.attr}() ", f"{node.attr}() received an invalid"))
    return inspect.getattr_static(torch.Tensor, node.attr, _MISSING) if spoken else _MISSING


def _is_torchs(callee: Any, node: ast.Call) -> bool:
    home = getattr(callee, "__module__", None) or getattr(
        getattr(callee, "__objclass__", None), "__module__", ""
    )
    builtin = vars(torch).get(getattr(callee, "__name__", "")) is callee
    return callable(callee) and (is_torchs(home) or builtin)


def _refused(node: ast.Call, callee: Any, text: str) -> NameEvidence | None:
    signature = _keywords(callee)
    taken = signature or _listed_keywords(text.partition("expected")[2]) or _listed_keywords(_usage(callee))
    given = [keyword.arg for keyword in node.keywords if keyword.arg]
    refused = [name for name in given if name not in taken]
    given += signature[: len(node.args)]
    missing = re.search(r"missing \d+ required positional arguments?: [\"'](\w+)[\"']", text)
    if not taken or not (refused or missing):
        return None
    asked = next((name for name in refused if f"'{name}'" in text), refused[0] if refused else "")
    return NameEvidence(
        asked=asked or (missing[1] if missing else ""),
        form="keyword" if refused else "missing-argument",
        owner=_callee_name(callee, node),
        kind="class" if is_a(callee, type) else "function",
        lineage=lineage(callee) if is_a(callee, type) else (),
        near=nearest(asked, [name for name in taken if name not in given]) if asked else (),
        keywords=tuple(name for name in taken if name not in given),
        refused=tuple(refused),
    )


def _keywords(callee: Any) -> list[str]:
    """All arguments it takes by name; those handed on by **kwargs are taken from its base classes."""
    if not is_a(callee, type):
        return _named(callee)[0]
    found: list[str] = []
    for cls in callee.__mro__:
        function = vars(cls).get("__init__")
        if function is None or cls is object:
            continue
        names, hands_on = _named(function)
        found += [name for name in names if name != "self"]
        if not hands_on:
            break
    return list(dict.fromkeys(found))


def _named(function: Any) -> tuple[list[str], bool]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return [], False
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    names = [item.name for item in parameters if item.kind in named]
    return names, any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters)


def _listed_keywords(text: str) -> list[str]:
    """What torch's own list of overloads names: (Tensor input, tuple of ints dim, bool keepdim = False)"""
    return list(dict.fromkeys(re.findall(r"[\w\],(*] ?(\w+)(?: ?= ?[^,)]+)?(?=[,)])", text)))


def _usage(callee: Any) -> str:
    """The first line of the documentation of a function written in C: zeros(*size, *, out=None, dtype=None)"""
    lines = (getattr(callee, "__doc__", None) or "").strip().splitlines()
    return lines[0].partition(" ->")[0] if lines else ""


def _callee_name(callee: Any, node: ast.Call) -> str:
    if is_a(callee, type):
        return public_name(callee)
    name = getattr(callee, "__name__", ast.unparse(node.func))
    if vars(torch).get(name) is callee:
        return f"torch.{name}"
    if getattr(callee, "__objclass__", None) is not None or vars(torch.Tensor).get(name) is callee:
        return f"torch.Tensor.{name}"
    home = sys.modules.get(getattr(callee, "__module__", ""))
    owner = vars(home).get(getattr(callee, "__qualname__", name).partition(".")[0]) if home else None
    if is_a(owner, type):
        return f"{public_name(owner)}.{name}"
    places = elsewhere(name, "")
    same = [place for place in places if place.rpartition(".")[0] == getattr(callee, "__module__", "")]
    return (same or places or (ast.unparse(node.func),))[0]


def _wrong_use(seen: Seen, called: bool) -> NameEvidence | None:
    """x.shape() and x.size[0]; or a module of torch that is called as the function it once was."""
    for node in _expressions(seen):
        inner = node.func if isinstance(node, ast.Call) and called else None
        inner = node.value if isinstance(node, ast.Subscript) and not called else inner
        if not isinstance(inner, ast.Attribute):
            continue
        owner, value = _resolved(inner.value, seen), _resolved(inner, seen)
        if called and is_a(value, ModuleType) and is_torchs(value.__name__):
            return NameEvidence(inner.attr, "called", value.__name__, "module", (value.__name__,))
        if is_tensor(owner) and (inspect.isroutine(value) is not called):
            return NameEvidence(
                inner.attr, "called" if called else "indexed", "torch.Tensor", "tensor", ("torch.Tensor",)
            )
    return None


def examine_number(scene: Scene) -> NameEvidence | None:
    """loss.data[0], as it was before PyTorch 0.4 had tensors without a dimension."""
    seen = scene.innermost
    if seen is None or not seen.user or not str(scene.error).startswith("invalid index of a 0-dim tensor"):
        return None
    for node in _expressions(seen):
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "0":
            inner = node.value
            bare = inner.value if isinstance(inner, ast.Attribute) and inner.attr == "data" else inner
            value = _resolved(bare, seen)
            if is_tensor(value) and value.dim() == 0:
                return NameEvidence(ast.unparse(node), "number", ast.unparse(bare), "tensor", ("torch.Tensor",))
    return None


def examine_removed(scene: Scene) -> NameEvidence | None:
    """A function that torch keeps only to say that it is gone."""
    innermost = scene.innermost
    if innermost is None or not innermost.file.replace("\\", "/").endswith("torch/_linalg_utils.py"):
        return None
    if "removed" not in str(scene.error):
        return None
    return NameEvidence(innermost.function.lstrip("_"), "removed", "torch", "module", ("torch",))
