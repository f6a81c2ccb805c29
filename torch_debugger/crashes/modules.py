"""Objects whose base class was never initialised: super().__init__() missing, late, misspelt."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, GeneratorType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import UNKNOWN, attribute_of, calls_on_line, expressions_in, value_of
from torch_debugger.crashes.frames import LiveCrash, Seen, is_tensor, kind_name
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import InitFact, MethodFact, RegistrationRefusal
from torch_debugger.source.files import class_source, covers, is_user_file, place_at, tree_of
from torch_debugger.source.objects import class_dict, is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import called_name

_MISSPELT = re.compile(r"_*(init|int|inti|ini|iinit|inint|initt)_*", re.IGNORECASE)


def examine_init(scene: LiveCrash) -> InitFact | None:
    if not isinstance(scene.error, AttributeError | TypeError | ValueError):
        return None
    return _wrong_call(scene) or _uninitialised(scene) or _misspelt(scene)


def _uninitialised(scene: LiveCrash) -> InitFact | None:
    """The object asked for an attribute that its base class would have made."""
    held, name = _object_asked(scene)
    if not isinstance(scene.error, AttributeError) or held is None:
        return None
    if issubclass(type(held), nn.Module):
        base: type | None = nn.Module if "_parameters" not in vars(held) else None
    else:
        base = _maker_of(type(held), name)
    return _at_fault(scene, type(held), base, name) if base is not None else None


def _object_asked(scene: LiveCrash) -> tuple[Any, str]:
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


def _at_fault(scene: LiveCrash, cls: type, base: type, needed: str) -> InitFact | None:
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
    scene: LiveCrash, source: ClassSource, method: ast.FunctionDef, needed: str, arguments: str
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


def _line_in(scene: LiveCrash, source: ClassSource, method: ast.FunctionDef) -> int | None:
    """The line the method was at when the crash came, if it was running."""
    for seen in scene.frames:
        inside = covers(method, seen.line)
        if seen.file == source.file and seen.function == "__init__" and inside:
            return seen.line
    return None


def _wrong_call(scene: LiveCrash) -> InitFact | None:
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


def _fault_of_call(scene: LiveCrash, seen: Seen, node: ast.expr, written: str) -> str:
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


def _misspelt(scene: LiveCrash) -> InitFact | None:
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


def _classes_concerned(scene: LiveCrash) -> list[tuple[type, str]]:
    """(class, the attribute it lacks): of the object asked, or of what the line builds or optimizes."""
    seen, inner = scene.user_frame, scene.innermost
    if isinstance(scene.error, AttributeError):
        held, name = _object_asked(scene)
        return [(type(held), name)] if name else []
    if seen is None or inner is None:
        return []
    found: list[tuple[type, str]] = []
    for call in calls_on_line(seen):
        if isinstance(scene.error, TypeError) and inner.function in (seen.function, "__init__"):
            cls = value_of(seen, call.func)
            found += [(cls, "")] if is_a(cls, type) and (call.args or call.keywords) else []
        elif isinstance(scene.error, ValueError) and inner.file.endswith("optimizer.py"):
            named = [value_of(seen, part) for part in ast.walk(call) if isinstance(part, ast.Name | ast.Attribute)]
            found += [(type(held), "") for held in named if held is not UNKNOWN]
    return found


# What a module could not take under a name: something of another kind, or a name that is taken.
_ROLES = {
    "add_module": "module", "register_module": "module", "register_parameter": "parameter",
    "register_buffer": "buffer",
}  # fmt: skip
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def examine_registration(scene: LiveCrash) -> RegistrationRefusal | None:
    inner, user = scene.innermost, scene.user_frame
    if inner is None or user is None:
        return None
    if inner is user:
        return _plain_class(scene, user) or _too_many(user)
    held: dict[str, Any] = inner.frame.f_locals
    module: Any = held.get("self")
    if inner.file.endswith("parameter.py") and inner.function == "__new__":
        return _no_parameter(held.get("data"))
    if not issubclass(type(module), nn.Module):
        return None
    if inner.function == "extend" and not isinstance(scene.error, KeyError):
        return RegistrationRefusal("", "module", "", _what(held.get("modules")), "no list", type(module).__name__)
    if inner.function in _ROLES:
        return _refused(scene, inner, module, _ROLES[inner.function])
    if inner.function == "__setattr__" and isinstance(scene.error, TypeError):
        return _wrong_kind(scene, module, str(held.get("name")), held.get("value"))
    return None


def _refused(scene: LiveCrash, inner: Seen, module: nn.Module, role: str) -> RegistrationRefusal | None:
    held: dict[str, Any] = inner.frame.f_locals
    name: Any = held.get("name")
    value: Any = held.get({"module": "module", "parameter": "param", "buffer": "tensor"}[role])
    owner = scene.paths.get(id(module), "") or type(module).__name__
    function = type(module).__name__ if is_a(module, _CONTAINERS) else inner.function
    size = len(value) if is_one_of(value, (list, tuple)) else None
    if not is_a(name, str):
        return RegistrationRefusal(owner, role, repr(name), kind_name(type(name)), "not a name", function)
    if isinstance(scene.error, KeyError):
        taken = attribute_of(module, name)
        if "." in name or not name:
            return RegistrationRefusal(owner, role, name, _what(value), "dot", function)
        place = attribute_place(type(module), name) or Place()
        return RegistrationRefusal(owner, role, name, _what(value), "taken", function, None, _what(taken), place)
    return RegistrationRefusal(owner, role, name, _what(value), "kind", function, size, held=_inside(value))


def _wrong_kind(scene: LiveCrash, module: nn.Module, name: str, value: Any) -> RegistrationRefusal | None:
    """An assignment to a name that stands for a parameter, child or buffer."""
    own = vars(module)
    roles = {"_parameters": "parameter", "_modules": "module", "_buffers": "buffer"}
    role = next((word for place, word in roles.items() if name in own.get(place, {})), None)
    if role is None:
        return None
    owner = scene.paths.get(id(module), "") or type(module).__name__
    held = _what(attribute_of(module, name))
    place = attribute_place(type(module), name) or Place()
    return RegistrationRefusal(owner, role, name, _what(value), "kind", "__setattr__", None, held, place)


def _no_parameter(data: Any) -> RegistrationRefusal | None:
    if is_tensor(data) and not (data.is_floating_point() or data.is_complex()):
        dtype = str(data.dtype).removeprefix("torch.")
        return RegistrationRefusal("", "parameter", "", dtype, "whole numbers", "Parameter")
    if data is not None and not is_tensor(data):
        return RegistrationRefusal("", "parameter", "", _what(data), "no tensor", "Parameter")
    return None


def _too_many(user: Seen) -> RegistrationRefusal | None:
    """nn.ModuleList(a, b): it takes one list."""
    for call in calls_on_line(user):
        if value_of(user, call.func) in (nn.ModuleList, nn.ParameterList) and len(call.args) > 1:
            function = called_name(call)
            return RegistrationRefusal("", "module", "", "", "several", function, len(call.args))
    return None


def _plain_class(scene: LiveCrash, user: Seen) -> RegistrationRefusal | None:
    """An object of a class of the user's that has a forward and does not derive from nn.Module."""
    for node in expressions_in(user):
        held: Any = UNKNOWN
        if isinstance(scene.error, AttributeError) and isinstance(node, ast.Attribute):
            asked = getattr(scene.error, "name", "")
            is_asked = node.attr == asked and hasattr(nn.Module, node.attr)
            held = value_of(user, node.value) if is_asked else UNKNOWN
        elif isinstance(scene.error, TypeError) and isinstance(node, ast.Call):
            held = value_of(user, node.func)
        cls = type(held)
        if held is not UNKNOWN and not issubclass(cls, nn.Module) and "forward" in class_dict(cls):
            source = source_of(cls)
            if source is not None and not callable(held):
                asked = getattr(scene.error, "name", "") or "a call"
                init = source.method("__init__")
                ready = init is None or any(base_calls(init))
                return RegistrationRefusal(
                    "", "module", cls.__name__, source.base, "no module", asked, None,
                    "initialised" if ready else "", source.place,
                )  # fmt: skip
    return None


def _what(value: Any) -> str:
    """A function's or class's own name, else the kind of the value."""
    if is_a(value, type):
        return f"class {value.__name__}"
    if is_a(value, GeneratorType):
        return "generator"
    if is_one_of(value, (FunctionType, BuiltinFunctionType)):
        home = "torch." if "torch" in str(value.__module__ or type(value)) else ""
        return f"function {home}{value.__name__}"
    return "Tensor" if type(value) is torch.Tensor else kind_name(type(value)).rpartition(".")[2]


def _inside(value: Any) -> str:
    """What a list holds, where it is all of one kind of thing."""
    items = value if is_one_of(value, (list, tuple)) else []
    return "modules" if items and all(issubclass(type(item), nn.Module) for item in items) else ""


# A class of the user's as its source has it: its methods, and what its __init__ does about its base.
@dataclass(frozen=True)
class ClassSource:
    file: str
    node: ast.ClassDef

    @property
    def place(self) -> Place:
        return place_at(self.file, self.node.lineno)

    @property
    def base(self) -> str:
        """The first base class as it is written: nn.Module"""
        return ast.unparse(self.node.bases[0]) if self.node.bases else ""

    def methods(self) -> list[ast.FunctionDef]:
        return [node for node in self.node.body if isinstance(node, ast.FunctionDef)]

    def method(self, name: str) -> ast.FunctionDef | None:
        return next((node for node in self.methods() if node.name == name), None)

    def fact(self, method: ast.FunctionDef, inside: str = "") -> MethodFact:
        return MethodFact(method.name, place_at(self.file, method.lineno), inside, filled_by(method))

    def nested(self, name: str) -> MethodFact | None:
        """A function of this name that stands inside a method."""
        for method in self.methods():
            for node in ast.walk(method):
                if isinstance(node, ast.FunctionDef) and node is not method and node.name == name:
                    return self.fact(node, method.name)
        return None

    def outside(self, name: str) -> MethodFact | None:
        """A function of this name that takes self and stands after the class, at the file's own level."""
        tree = tree_of(self.file)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and node.name == name and node.lineno > self.node.lineno:
                arguments = node.args.args
                if arguments and arguments[0].arg == "self":
                    return self.fact(node, "<module>")
        return None


def source_of(cls: type) -> ClassSource | None:
    found = class_source(cls)
    return ClassSource(*found) if found is not None else None


def filled_by(method: ast.FunctionDef) -> tuple[str, ...]:
    """The attributes of its first argument that a method assigns."""
    own = method.args.args[0].arg if method.args.args else ""
    names = [
        node.attr
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == own
    ]
    return tuple(dict.fromkeys(names))


def first_statement(method: ast.FunctionDef) -> ast.stmt:
    """The first one after the docstring."""
    body = method.body
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[1]
    return body[0]


def base_calls(method: ast.FunctionDef) -> Iterator[ast.Attribute]:
    """Where a method names the __init__ of a base class, called or not: super().__init__, nn.Module.__init__"""
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and node.attr == "__init__":
            yield node


def is_called(method: ast.FunctionDef, attribute: ast.Attribute) -> bool:
    return any(isinstance(node, ast.Call) and node.func is attribute for node in ast.walk(method))
