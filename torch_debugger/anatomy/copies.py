"""Copies of a model that a script keeps beside it: same class, same shapes, other parameters."""

from __future__ import annotations

from types import FrameType

from torch import nn

from torch_debugger.anatomy.containers import dotted
from torch_debugger.anatomy.naming import own_attributes, scopes
from torch_debugger.anatomy.registrations import assignments
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.records import Place


def copies_of(model: nn.Module, frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    """Under the names of the user's variables and attributes, each copy once."""
    shapes, own = _shapes(model), {id(parameter) for parameter in model.parameters()}
    found: dict[int, tuple[str, nn.Module]] = {}
    for name, module in _modules_in(frame):
        fits = module is not model and type(_unwrapped(module)) is type(model) and _shapes(module) == shapes
        if fits and not any(id(parameter) in own for parameter in module.parameters()):
            found.setdefault(id(module), (name, module))
    return list(found.values()) if shapes else []


def _modules_in(frame: FrameType | None) -> list[tuple[str, nn.Module]]:
    found: list[tuple[str, nn.Module]] = []
    for names in scopes(frame):
        for name, value in names:
            attributes = own_attributes(value)
            children = attributes.get("_modules")
            inside = {**attributes, **children} if isinstance(children, dict) else attributes
            values = [(name, value), *inside.items()]
            found += [
                (key, each) for key, each in values if issubclass(type(each), nn.Module) and key != "self"
            ]
    return found


def _unwrapped(module: nn.Module) -> nn.Module:
    """An AveragedModel keeps the copy inside it."""
    inside = module._modules.get("module")
    return inside if inside is not None and len(module._modules) == 1 else module


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
        if any((dotted(target) or "").rpartition(".")[2] == name for target in node.targets)
    ]
    return place_at(file, max(lines)) if lines else Place()
