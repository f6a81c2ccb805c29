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
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, kind_name
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import InitFact, MethodFact, RegistrationRefusal
from torch_debugger.source.files import class_source, covers, is_user_file, place_at, tree_of
from torch_debugger.source.objects import class_dict, is_a, is_one_of
from torch_debugger.source.statements import attribute_place
from torch_debugger.source.syntax import called_name

_MISSPELT = re.compile(r"(?!(?-i:__init__)$)_*(init|int|inti|ini|iinit|inint|initt)_*", re.IGNORECASE)


def examine_init(crash: LiveCrash) -> InitFact | None:
    if not isinstance(crash.error, AttributeError | TypeError | ValueError):
        return None
    if (found := _wrong_call(crash) or _uninitialised(crash)) is not None:
        return found
    for cls, needed in _classes_concerned(crash):  # a method that was to be __init__ and never ran: __int__, _init_
        source = source_of(cls)
        if source is None or source.method("__init__") is not None:
            continue
        for fact in map(source.fact, source.methods()):
            fills = needed in fact.fills if needed else bool(fact.fills)
            if fills and _MISSPELT.fullmatch(fact.name):
                return InitFact(cls.__name__, source.base, "misspelt", fact.place, fact.name, needed)
    return None


def _uninitialised(crash: LiveCrash) -> InitFact | None:
    """The object asked for an attribute that its base class would have made."""
    owner, name = _failed_attribute(crash)
    if not isinstance(crash.error, AttributeError) or owner is None:
        return None
    if issubclass(type(owner), nn.Module):
        base: type | None = nn.Module if "_parameters" not in vars(owner) else None
    else:  # the library's base class whose __init__ assigns this attribute, while no __init__ of the user's does
        inits = ((cls, vars(cls).get("__init__")) for cls in type(owner).__mro__[1:])
        written = ((cls, init.__code__) for cls, init in inits if is_a(init, FunctionType))
        makers = (cls for cls, code in written if not is_user_file(code.co_filename) and name in code.co_names)
        base = next(makers, None)
    return _at_fault(crash, type(owner), base, name) if base is not None else None


def _failed_attribute(crash: LiveCrash) -> tuple[Any, str]:
    """The object of an AttributeError, and the attribute; for one that torch raises, its method's self."""
    inner = crash.innermost
    owner, name = getattr(crash.error, "obj", None), getattr(crash.error, "name", None) or ""
    if inner is not None and inner.file.endswith("module.py") and not inner.user:
        owner, name = inner.locals.get("self"), inner.locals.get("name", name)
    return owner, name if is_a(name, str) else ""


def _at_fault(crash: LiveCrash, cls: type, base: type, needed: str) -> InitFact | None:
    """The first of the object's classes whose own __init__ does not hand on to its base, or not yet."""
    for owner in cls.__mro__:
        if owner is base:
            return None
        init, source = vars(owner).get("__init__"), source_of(owner)
        if source is None:
            continue
        if is_a(init, FunctionType) and init.__code__.co_filename == "<string>":
            return InitFact(owner.__name__, source.base, "dataclass", source.place, needed=needed)
        method = source.method("__init__")
        if method is None:
            continue
        first, call = place_at(source.file, first_statement(method).lineno), next(base_calls(method), None)
        if call is None:
            # A def and its body on one line leave no line to put the call before.
            where = first if first.line != method.lineno else place_at(source.file, method.lineno)
            arguments = ", ".join(required_arguments(owner.__mro__[1].__init__)[1:])  # type: ignore[misc]
            return InitFact(source.node.name, source.base, "missing", where, arguments, needed, first)
        called = any(isinstance(node, ast.Call) and node.func is call for node in ast.walk(method))
        at_line = next(
            (seen.line for seen in crash.frames if seen.file == source.file and seen.function == "__init__"
             and covers(method, seen.line)), None,
        )  # fmt: skip
        if not called or (at_line is not None and at_line < call.lineno):
            fault = "late" if called else "not called"
            line = place_at(source.file, call.lineno)
            return InitFact(source.node.name, source.base, fault, line, ast.unparse(call), needed, first)
    return None


def required_arguments(function: Any) -> list[str]:
    """The arguments that a call cannot do without, also of a class; none where that is not known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [item.name for item in parameters if item.default is item.empty and item.kind not in kinds]


def _wrong_call(crash: LiveCrash) -> InitFact | None:
    """The line that was to initialise the base class is what raised: super.__init__(), super(Other, self)."""
    seen = crash.user_frame
    if seen is None or seen.function != "__init__":
        return None
    for raised in expressions_in(seen):
        node, refused = raised, isinstance(crash.error, TypeError) and isinstance(raised, ast.Attribute)
        if refused and re.fullmatch(r"super\(\w+, \w+\)", ast.unparse(raised.value)):  # type: ignore[attr-defined]
            # super(Other, self) itself: from Python 3.12 on the attribute behind it is marked too
            node = raised.value  # type: ignore[attr-defined]
        written = ast.unparse(node)
        fault = _fault_of_call(crash, seen, node, written)
        if fault:
            owner = type(seen.locals.get(seen.frame.f_code.co_varnames[0]))
            inits = ((cls, vars(cls).get("__init__")) for cls in owner.__mro__)
            running = (cls for cls, init in inits if getattr(init, "__code__", None) is seen.frame.f_code)
            source = next((source_of(cls) for cls in running), None)
            base = source.base if source is not None else "its base class"
            cls = source.node.name if source is not None else owner.__name__
            return InitFact(cls, base, fault, seen.place, written)
    return None


def _fault_of_call(crash: LiveCrash, seen: LiveFrame, node: ast.expr, written: str) -> str:
    inner = crash.innermost
    if inner is not None and not inner.user:
        takes_none = inner.file.endswith("module.py") and inner.function == "__init__"
        is_super = re.fullmatch(r"super\(.*?\)\.__init__\(.+\)", written) is not None
        return "arguments" if takes_none and is_super and isinstance(crash.error, TypeError) else ""
    if re.fullmatch(r"super\.__init__\(.*\)", written):
        return "wrong super"
    if re.fullmatch(r"super\(\w+, \w+\)", written) and isinstance(crash.error, TypeError):
        return "wrong super"
    if isinstance(node, ast.Attribute) and re.fullmatch(r"super\(.*\)", ast.unparse(node.value)):
        misspelt = _MISSPELT.fullmatch(node.attr) is not None
        return "wrong super" if misspelt and isinstance(crash.error, AttributeError) else ""
    if isinstance(node, ast.Call) and re.fullmatch(r"[\w.]+\.__init__\(\)", written):
        owner = value_of(seen, node.func.value) if isinstance(node.func, ast.Attribute) else UNKNOWN
        return "wrong super" if is_a(owner, type) and isinstance(crash.error, TypeError) else ""
    return ""


def _classes_concerned(crash: LiveCrash) -> list[tuple[type, str]]:
    """(class, the attribute it lacks): of the object asked, or of what the line builds or optimizes."""
    seen, inner = crash.user_frame, crash.innermost
    if isinstance(crash.error, AttributeError):
        value, name = _failed_attribute(crash)
        return [(type(value), name)] if name else []
    if seen is None or inner is None:
        return []
    found: list[tuple[type, str]] = []
    for call in calls_on_line(seen):
        if isinstance(crash.error, TypeError) and inner.function in (seen.function, "__init__"):
            cls = value_of(seen, call.func)
            found += [(cls, "")] if is_a(cls, type) and (call.args or call.keywords) else []
        elif isinstance(crash.error, ValueError) and inner.file.endswith("optimizer.py"):
            named = [value_of(seen, part) for part in ast.walk(call) if isinstance(part, ast.Name | ast.Attribute)]
            found += [(type(value), "") for value in named if value is not UNKNOWN]
    return found


# What a module could not take under a name: something of another kind, or a name that is taken.
_ROLES = {  # function -> what it registers, the argument
    "add_module": ("module", "module"), "register_module": ("module", "module"),
    "register_parameter": ("parameter", "param"), "register_buffer": ("buffer", "tensor"),
}  # fmt: skip
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def examine_registration(crash: LiveCrash) -> RegistrationRefusal | None:
    inner, user = crash.innermost, crash.user_frame
    if inner is None or user is None:
        return None
    if inner is user:
        if (plain := _plain_class(crash, user)) is not None:
            return plain
        for call in calls_on_line(user):  # nn.ModuleList(a, b): it takes one list
            if value_of(user, call.func) in (nn.ModuleList, nn.ParameterList) and len(call.args) > 1:
                return RegistrationRefusal("", "module", "", "", "several", called_name(call), len(call.args))
        return None
    variables = inner.locals
    module: Any = variables.get("self")
    if inner.file.endswith("parameter.py") and inner.function == "__new__":
        data: Any = variables.get("data")
        if is_tensor(data) and not (data.is_floating_point() or data.is_complex()):
            dtype = str(data.dtype).removeprefix("torch.")
            return RegistrationRefusal("", "parameter", "", dtype, "whole numbers", "Parameter")
        if data is not None and not is_tensor(data):
            return RegistrationRefusal("", "parameter", "", _what(data), "no tensor", "Parameter")
        return None
    if not is_a(module, nn.Module):
        return None
    if inner.function == "extend" and not isinstance(crash.error, KeyError):
        return RegistrationRefusal("", "module", "", _what(variables.get("modules")), "no list", type(module).__name__)
    if inner.function in _ROLES:
        role, argument = _ROLES[inner.function]
        function = type(module).__name__ if is_a(module, _CONTAINERS) else inner.function
        return _refused(crash, module, variables.get("name"), variables.get(argument), role, function)
    if inner.function != "__setattr__" or not isinstance(crash.error, TypeError):
        return None
    # an assignment to a name that stands for a parameter, child or buffer
    name, spaces = (
        str(variables.get("name")),
        (("_parameters", "parameter"), ("_modules", "module"), ("_buffers", "buffer")),
    )
    role = next((word for space, word in spaces if name in vars(module).get(space, {})), "")
    if not role:
        return None
    owner, taken = crash.paths.get(id(module), "") or type(module).__name__, _what(attribute_of(module, name))
    place, value = attribute_place(type(module), name) or Place(), _what(variables.get("value"))
    return RegistrationRefusal(owner, role, name, value, "kind", "__setattr__", None, taken, place)


def _refused(
    crash: LiveCrash, module: nn.Module, name: Any, value: Any, role: str, function: str
) -> RegistrationRefusal:
    owner = crash.paths.get(id(module), "") or type(module).__name__
    if not is_a(name, str):
        return RegistrationRefusal(owner, role, repr(name), kind_name(type(name)), "not a name", function)
    if not isinstance(crash.error, KeyError):
        items = value if is_one_of(value, (list, tuple)) else None
        contents = "modules" if items and all(is_a(item, nn.Module) for item in items) else ""
        size = len(items) if items is not None else None
        return RegistrationRefusal(owner, role, name, _what(value), "kind", function, size, held=contents)
    if "." in name or not name:
        return RegistrationRefusal(owner, role, name, _what(value), "dot", function)
    taken, place = _what(attribute_of(module, name)), attribute_place(type(module), name) or Place()
    return RegistrationRefusal(owner, role, name, _what(value), "taken", function, None, taken, place)


def _plain_class(crash: LiveCrash, user: LiveFrame) -> RegistrationRefusal | None:
    """An object of a class of the user's that has a forward and does not derive from nn.Module."""
    for node in expressions_in(user):
        value: Any = UNKNOWN
        if isinstance(crash.error, AttributeError) and isinstance(node, ast.Attribute):
            requested = getattr(crash.error, "name", "")
            is_requested = node.attr == requested and hasattr(nn.Module, node.attr)
            value = value_of(user, node.value) if is_requested else UNKNOWN
        elif isinstance(crash.error, TypeError) and isinstance(node, ast.Call):
            value = value_of(user, node.func)
        cls = type(value)
        if value is not UNKNOWN and not issubclass(cls, nn.Module) and "forward" in class_dict(cls):
            source = source_of(cls)
            if source is not None and not callable(value):
                requested = getattr(crash.error, "name", "") or "a call"
                init = source.method("__init__")
                ready = init is None or any(base_calls(init))
                return RegistrationRefusal(
                    "", "module", cls.__name__, source.base, "no module", requested, None,
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
