"""Objects whose base class was never initialised: super().__init__() missing, late, misspelt."""

from __future__ import annotations

import ast
import inspect
import re
from types import FunctionType
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.probes.examiners.class_sources import (
    ClassSource,
    base_calls,
    first_statement,
    is_called,
    source_of,
)
from torch_debugger.probes.examiners.reading import UNKNOWN, calls_in, expressions_in, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records.evidence.building import InitFact

_MISSPELT = re.compile(r"_*(init|int|inti|ini|iinit|inint|initt)_*", re.IGNORECASE)


def examine_init(scene: Scene) -> InitFact | None:
    if not isinstance(scene.error, AttributeError | TypeError | ValueError):
        return None
    return _wrong_call(scene) or _uninitialised(scene) or _misspelt(scene)


def _uninitialised(scene: Scene) -> InitFact | None:
    """The object asked for an attribute that its base class would have made."""
    held, name = _object_asked(scene)
    if not isinstance(scene.error, AttributeError) or held is None:
        return None
    if issubclass(type(held), nn.Module):
        base: type | None = nn.Module if "_parameters" not in vars(held) else None
    else:
        base = _maker_of(type(held), name)
    return _at_fault(scene, type(held), base, name) if base is not None else None


def _object_asked(scene: Scene) -> tuple[Any, str]:
    """The object of an AttributeError, and the attribute; for one that torch raises, its method's self."""
    inner = scene.innermost
    held, name = getattr(scene.error, "obj", None), getattr(scene.error, "name", None) or ""
    if inner is not None and inner.file.endswith("module.py") and not inner.user:
        held, name = inner.frame.f_locals.get("self"), inner.frame.f_locals.get("name", name)
    return held, name if is_a(name, str) else ""


def _maker_of(cls: type, name: str) -> type | None:
    """The library's base class whose __init__ assigns this attribute, while no __init__ of the user's does."""
    for base in cls.__mro__[1:]:
        init = vars(base).get("__init__")
        if not is_a(init, FunctionType) or is_user_file(init.__code__.co_filename):
            continue
        if name in init.__code__.co_names:
            return base
    return None


def _at_fault(scene: Scene, cls: type, base: type, needed: str) -> InitFact | None:
    """The first of the object's classes whose own __init__ does not hand on to its base, or not yet."""
    for owner in cls.__mro__:
        if owner is base:
            return None
        init = vars(owner).get("__init__")
        source = source_of(owner)
        if is_a(init, FunctionType) and init.__code__.co_filename == "<string>" and source is not None:
            return InitFact(owner.__name__, source.base, "dataclass", source.place, needed=needed)
        method = source.method("__init__") if source is not None else None
        if source is not None and method is not None:
            fault = _fault_in(scene, source, method, needed, _needs(owner))
            if fault is not None:
                return fault
    return None


def _needs(cls: type) -> str:
    """The arguments that the base class's own __init__ cannot do without: params"""
    parameters = list(inspect.signature(cls.__mro__[1].__init__).parameters.values())[1:]  # type: ignore[misc]
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return ", ".join(item.name for item in parameters if item.default is item.empty and item.kind not in kinds)


def _fault_in(
    scene: Scene, source: ClassSource, method: ast.FunctionDef, needed: str, arguments: str
) -> InitFact | None:
    calls = list(base_calls(method))
    first = place_at(source.file, first_statement(method).lineno)
    if not calls:
        # A def and its body on one line leave no line to put the call before.
        where = first if first.line != method.lineno else place_at(source.file, method.lineno)
        return InitFact(source.node.name, source.base, "missing", where, arguments, needed, first)
    line, text = place_at(source.file, calls[0].lineno), ast.unparse(calls[0])
    if not is_called(method, calls[0]):
        return InitFact(source.node.name, source.base, "not called", line, text, needed, first)
    running = _line_in(scene, source, method)
    if running is not None and running < calls[0].lineno:
        return InitFact(source.node.name, source.base, "late", line, text, needed, first)
    return None


def _line_in(scene: Scene, source: ClassSource, method: ast.FunctionDef) -> int | None:
    """The line the method was at when the crash came, if it was running."""
    for seen in scene.frames:
        inside = method.lineno <= seen.line <= (method.end_lineno or 0)
        if seen.file == source.file and seen.function == "__init__" and inside:
            return seen.line
    return None


def _wrong_call(scene: Scene) -> InitFact | None:
    """The line that was to initialise the base class is what raised: super.__init__(), super(Other, self)."""
    seen = scene.user_frame
    if seen is None or seen.function != "__init__":
        return None
    for raised in expressions_in(seen):
        node = _super_itself(raised, scene.error)
        written = ast.unparse(node)
        fault = _fault_of_call(scene, seen, node, written)
        if fault:
            owner = type(seen.frame.f_locals.get(seen.frame.f_code.co_varnames[0]))
            source = _class_around(owner, seen)
            base = source.base if source is not None else "its base class"
            cls = source.node.name if source is not None else owner.__name__
            return InitFact(cls, base, fault, place_at(seen.file, seen.line), written)
    return None


def _super_itself(node: ast.expr, error: BaseException) -> ast.expr:
    """super(Other, self) where that is refused: from Python 3.12 on the attribute behind it is marked too."""
    if not isinstance(error, TypeError) or not isinstance(node, ast.Attribute):
        return node
    return node.value if re.fullmatch(r"super\(\w+, \w+\)", ast.unparse(node.value)) else node


def _fault_of_call(scene: Scene, seen: Seen, node: ast.expr, written: str) -> str:
    inner = scene.innermost
    if inner is not None and not inner.user:
        takes_none = inner.file.endswith("module.py") and inner.function == "__init__"
        is_super = re.fullmatch(r"super\(.*?\)\.__init__\(.+\)", written) is not None
        return "arguments" if takes_none and is_super and isinstance(scene.error, TypeError) else ""
    if re.fullmatch(r"super\.__init__\(.*\)", written):
        return "wrong super"
    if re.fullmatch(r"super\(\w+, \w+\)", written) and isinstance(scene.error, TypeError):
        return "wrong super"
    if isinstance(node, ast.Attribute) and re.fullmatch(r"super\(.*\)", ast.unparse(node.value)):
        return "wrong super" if _is_misspelt(node.attr) and isinstance(scene.error, AttributeError) else ""
    if isinstance(node, ast.Call) and re.fullmatch(r"[\w.]+\.__init__\(\)", written):
        owner = value_of(seen, node.func.value) if isinstance(node.func, ast.Attribute) else UNKNOWN
        return "wrong super" if is_a(owner, type) and isinstance(scene.error, TypeError) else ""
    return ""


def _is_misspelt(name: str) -> bool:
    return name != "__init__" and _MISSPELT.fullmatch(name) is not None


def _class_around(cls: type, seen: Seen) -> ClassSource | None:
    """The class of the object's whose __init__ the frame runs."""
    for owner in cls.__mro__:
        init = vars(owner).get("__init__")
        if getattr(init, "__code__", None) is seen.frame.f_code:
            return source_of(owner)
    return None


def _misspelt(scene: Scene) -> InitFact | None:
    """A method that was to be __init__ and never ran: __int__, _init_."""
    for cls, needed in _classes_concerned(scene):
        source = source_of(cls)
        if source is None or source.method("__init__") is not None:
            continue
        for method in source.methods():
            fact = source.fact(method)
            wanted = needed in fact.fills if needed else bool(fact.fills)
            if _is_misspelt(method.name) and wanted:
                return InitFact(cls.__name__, source.base, "misspelt", fact.place, method.name, needed)
    return None


def _classes_concerned(scene: Scene) -> list[tuple[type, str]]:
    """(class, the attribute it lacks): of the object asked, or of what the line builds or optimizes."""
    seen, inner = scene.user_frame, scene.innermost
    if isinstance(scene.error, AttributeError):
        held, name = _object_asked(scene)
        return [(type(held), name)] if name else []
    if seen is None or inner is None:
        return []
    found: list[tuple[type, str]] = []
    for call in calls_in(seen):
        if isinstance(scene.error, TypeError) and inner.function in (seen.function, "__init__"):
            cls = value_of(seen, call.func)
            found += [(cls, "")] if is_a(cls, type) and (call.args or call.keywords) else []
        elif isinstance(scene.error, ValueError) and inner.file.endswith("optimizer.py"):
            named = [
                value_of(seen, part) for part in ast.walk(call) if isinstance(part, ast.Name | ast.Attribute)
            ]
            found += [(type(held), "") for held in named if held is not UNKNOWN]
    return found
