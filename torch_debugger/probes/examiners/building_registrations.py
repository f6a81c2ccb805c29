"""What a module could not take under a name: something of another kind, or a name that is taken."""

from __future__ import annotations

import ast
from types import BuiltinFunctionType, FunctionType, GeneratorType
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.kinds import class_dict, is_a, is_one_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.crash_values import kind_name
from torch_debugger.probes.examiners.class_sources import base_calls, source_of
from torch_debugger.probes.examiners.reading import UNKNOWN, attribute_of, calls_in, expressions_in, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import RegistrationRefusal

_ROLES = {
    "add_module": "module", "register_module": "module", "register_parameter": "parameter",
    "register_buffer": "buffer",
}  # fmt: skip
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


def examine_registration(scene: Scene) -> RegistrationRefusal | None:
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
        return RegistrationRefusal(
            "", "module", "", _what(held.get("modules")), "no list", type(module).__name__
        )
    if inner.function in _ROLES:
        return _refused(scene, inner, module, _ROLES[inner.function])
    if inner.function == "__setattr__" and isinstance(scene.error, TypeError):
        return _wrong_kind(scene, module, str(held.get("name")), held.get("value"))
    return None


def _refused(scene: Scene, inner: Seen, module: nn.Module, role: str) -> RegistrationRefusal | None:
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
        return RegistrationRefusal(
            owner, role, name, _what(value), "taken", function, None, _what(taken), place
        )
    return RegistrationRefusal(owner, role, name, _what(value), "kind", function, size, held=_inside(value))


def _wrong_kind(scene: Scene, module: nn.Module, name: str, value: Any) -> RegistrationRefusal | None:
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
    for call in calls_in(user):
        if value_of(user, call.func) in (nn.ModuleList, nn.ParameterList) and len(call.args) > 1:
            function = ast.unparse(call.func).rpartition(".")[2]
            return RegistrationRefusal("", "module", "", "", "several", function, len(call.args))
    return None


def _plain_class(scene: Scene, user: Seen) -> RegistrationRefusal | None:
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
