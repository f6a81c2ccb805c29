"""Why an optimizer found no parameters: used up, frozen, or kept where the model does not look."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_one_of
from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.anatomy.statements import attribute_place
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.reading import UNKNOWN, binding_of, value_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.building import OptimizerRefusal, StrayFact

_ITEMS = 64
_FREEZING = (".requires_grad = False", ".requires_grad_(False)")


def examine_empty(scene: Scene, user: Seen, kind: str, node: ast.expr | None) -> OptimizerRefusal | None:
    if node is None:
        return None
    text = ast.unparse(node)
    if isinstance(node, ast.Name):
        return _named(user, kind, node)
    found = _model_in(user, node)
    if found is None:
        return None
    return _of_model(user, kind, text, *found)


def _named(user: Seen, kind: str, node: ast.Name) -> OptimizerRefusal | None:
    """A variable: a generator that something else has run through, or a list that came out empty."""
    value, binding = value_of(user, node), binding_of(user, node.id)
    if binding is None:
        return None
    found = _model_in(user, binding.value)
    if found is None or found[1] is None:
        return None
    name, model = found
    parameters = list(model.parameters())
    if type(value).__name__ in ("generator", "filter", "map") and any(
        item.requires_grad for item in parameters
    ):
        used = _use_between(user, node.id, binding.node.lineno)
        return OptimizerRefusal(
            kind, "used up", node.id, ast.unparse(binding.value), name, len(parameters),
            origin=binding.place, names=(f"{used.line}",) if used is not None else (),
        )  # fmt: skip
    return _of_model(user, kind, ast.unparse(binding.value), name, model)


def _use_between(user: Seen, name: str, after: int) -> Place | None:
    tree = tree_of(user.file)
    uses = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Name) and node.id == name and after < node.lineno < user.line
    ]
    return place_at(user.file, min(uses)) if uses else None


def _of_model(user: Seen, kind: str, text: str, name: str, model: nn.Module) -> OptimizerRefusal | None:
    parameters = list(model.parameters())
    trainable = sum(parameter.requires_grad for parameter in parameters)
    if parameters and not trainable:
        frozen = _freezing_line(user)
        parts = tuple(
            child for child, part in model.named_children() if next(part.parameters(), None) is not None
        )
        owner = type(model).__name__
        return OptimizerRefusal(kind, "frozen", text, owner, name, len(parameters), 0, parts, origin=frozen)
    if parameters:
        return None
    strays = tuple(_strays(model))
    fault = "strays" if strays else "nothing"
    return OptimizerRefusal(kind, fault, text, type(model).__name__, name, strays=strays)


def _model_in(user: Seen, node: ast.expr) -> tuple[str, nn.Module] | None:
    """The module whose parameters an expression asks for."""
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in ("parameters", "named_parameters"):
            held = value_of(user, part.value)
            if held is not UNKNOWN and issubclass(type(held), nn.Module):
                return ast.unparse(part.value), held
    return None


def _freezing_line(user: Seen) -> Place:
    """The only line of the file that turns requires_grad off."""
    tree = tree_of(user.file)
    lines = [
        node.lineno
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Assign | ast.Expr) and ast.unparse(node).endswith(_FREEZING)
    ]
    return place_at(user.file, lines[0]) if len(lines) == 1 else Place()


def _strays(model: nn.Module) -> Iterator[StrayFact]:
    """Layers in plain lists and dicts, and tensors that were to be parameters, of the model and its parts."""
    for module in model.modules():
        for name, value in list(vars(module).items()):
            if name in _registries():
                continue
            kinds = tuple(dict.fromkeys(type(item).__name__ for item in _modules_in(value)))
            place = attribute_place(type(module), name) or Place()
            if kinds:
                yield StrayFact(name, type(value).__name__, kinds, place)
            elif is_tensor(value) and value.requires_grad:
                yield StrayFact(name, "tensor", ("Tensor",), place)


def _registries() -> frozenset[str]:
    return frozenset(vars(nn.Module()))


def _modules_in(value: Any) -> list[nn.Module]:
    items = list(value.values()) if type(value) is dict else value if is_one_of(value, (list, tuple)) else []
    return [item for item in items[:_ITEMS] if issubclass(type(item), nn.Module)]
