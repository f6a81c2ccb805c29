"""Copies of a model that a script keeps beside it: same class, same shapes, other parameters."""

from __future__ import annotations

from collections import deque
from types import FrameType
from typing import Any

from torch import nn

from torch_debugger.anatomy.assignments import parts
from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.kinds import is_a, is_one_of, own_attributes
from torch_debugger.anatomy.naming import scopes
from torch_debugger.anatomy.registrations import assignments
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.records import Place

_GENERIC = ("module", "model", "net", "network")
_DEEPEST, _VISITED, _ITEMS = 3, 2000, 32
_LOOKS = 20_000  # at 1 to 2 us each


def copies_of(model: nn.Module, frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    """Under the names of the user's variables and attributes, each copy once."""
    shapes, own = _shapes(model), {id(parameter) for parameter in model.parameters()}
    found: list[tuple[str, nn.Module]] = []
    inside: set[int] = set()  # what an AveragedModel wraps
    for name, module in _modules_in(frame) if shapes else ():
        if id(module) in inside or module is model or type(_unwrapped(module)) is not type(model):
            continue
        if _shapes(module) == shapes and not any(id(parameter) in own for parameter in module.parameters()):
            found.append((name, module))
            inside |= {id(part) for part in module.modules()}
    return found


def copied_siblings(model: nn.Module, own: set[int]) -> list[tuple[str, nn.Module, str, nn.Module]]:
    """Of two parts side by side, alike in class and shapes: the one outside `own` parameters, and its model."""
    found = []
    for path, parent in model.named_modules():
        if len(vars(parent).get("_modules", ())) < 2:  # also where modules are nested hundreds deep
            continue
        children = [(name, child, _shapes(child)) for name, child in parent.named_children()]
        children = [each for each in children if each[2]]
        held = [each for each in children if all(id(p) in own for p in each[1].parameters())]
        others = [each for each in children if not any(id(p) in own for p in each[1].parameters())]
        found += [
            (name, copy, f"{path}.{of}".lstrip("."), part)
            for name, copy, shapes in others
            for of, part, same in held
            if type(copy) is type(part) and shapes == same
        ]
    return found


def _modules_in(frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    found: list[tuple[str, nn.Module]] = []
    seen: set[int] = set()
    looks = _LOOKS
    for names in scopes(frame):
        waiting = deque((name, value, 0) for name, value in names)
        while waiting and looks:
            name, value, depth = waiting.popleft()
            looks -= 1
            if id(value) in seen:
                continue
            if issubclass(type(value), nn.Module) and name != "self":
                found.append((name, value))
            inside = _inside(value)
            if depth < _DEEPEST and inside and len(seen) < _VISITED:
                seen.add(id(value))
                waiting += [(_label(name, key), each, depth + 1) for key, each in inside]
    return found


def _inside(value: Any) -> list[tuple[str, Any]]:
    """Attributes and children of an object, entries of a list: callbacks -> EMACallback -> ema -> module."""
    if is_one_of(value, (list, tuple)):
        return [("", each) for each in value[:_ITEMS]]
    attributes = own_attributes(value)
    children = attributes.get("_modules")
    return [*{**attributes, **children}.items()] if is_a(children, dict) else [*attributes.items()]


def _label(holder: str, key: str) -> str:
    """ema.module, where the attribute's own name says nothing."""
    qualified = f"{holder}.{key}" if holder not in ("", "self") else key
    return key if key and key not in _GENERIC else qualified.strip(".")


def _unwrapped(module: nn.Module) -> nn.Module:
    """An AveragedModel keeps the copy inside it."""
    if "_modules" not in vars(module):  # its class has not called super().__init__() yet
        return module
    inside = dict(module.named_children())
    return inside["module"] if [*inside] == ["module"] else module


def _shapes(module: nn.Module) -> list[tuple[int, ...]]:
    return [tuple(p.shape) for p in module.parameters() if not nn.parameter.is_lazy(p)]


def maker_of(name: str, file: str | None) -> Place:
    """The last line of a file that assigns a variable or attribute of this name."""
    tree = tree_of(file) if file else None
    if tree is None or file is None:
        return Place()
    lines = [
        node.lineno
        for node, _ in assignments(tree)
        for target in node.targets
        if any(dotted(part).rpartition(".")[2] == name.rpartition(".")[2] for part in parts(target))
    ]
    return place_at(file, max(lines)) if lines else Place()
