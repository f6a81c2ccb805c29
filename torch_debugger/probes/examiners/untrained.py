"""A loss without a graph as nothing in reach asks for gradients: frozen models, plain tensors, a switch."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import torch

from torch_debugger.anatomy.sources import tree_of
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import models_of, named_parameters, optimizers_of, scopes
from torch_debugger.probes.examiners.rebound_source import asks_gradient
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.user_scope import Scope, calls_in, statement_place
from torch_debugger.records import Place
from torch_debugger.records.evidence.autograd import GraphCut


def find_untrained(scene: Scene) -> GraphCut | None:
    return _switched_off(scene) or _frozen(scene) or _constant(scene)


def _switched_off(scene: Scene) -> GraphCut | None:
    """Recording is off to this moment, and a line of the user's files turned it off."""
    if torch.is_grad_enabled():
        return None
    for file, call in _calls(scene):
        text = ast.unparse(call)
        if text.endswith(("set_grad_enabled(False)", "set_grad_enabled(mode=False)", "no_grad().__enter__()")):
            return GraphCut("switched-off", statement_place(file, call.lineno), text, proven=True)
    return None


def _frozen(scene: Scene) -> GraphCut | None:
    parameters = dict(named_parameters(scene))
    if not parameters or any(item.requires_grad for item in parameters.values()):
        return None
    place = next(_freezing(scene), Place())
    name = next(iter(models_of(scene)), "")
    return GraphCut("frozen", place, place.code or "", name, proven=True, parameters=len(parameters))


def _freezing(scene: Scene) -> Iterator[Place]:
    """p.requires_grad = False, model.requires_grad_(False)"""
    for file, call in _calls(scene):
        if ast.unparse(call).endswith(".requires_grad_(False)"):
            yield statement_place(file, call.lineno)
    for file in _files(scene):
        tree = tree_of(file)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Assign) and ast.unparse(node).endswith(".requires_grad = False"):
                yield statement_place(file, node.lineno)


def _constant(scene: Scene) -> GraphCut | None:
    """A plain tensor that is meant to be trained: an optimizer holds it, or its .grad is read."""
    held = [
        item for one in optimizers_of(scene).values() for group in one.param_groups for item in group["params"]
    ]
    for scope in scopes(scene):
        for name, value in list(scope.seen.frame.f_locals.items()):
            if (
                not is_tensor(value)
                or value.requires_grad
                or not value.is_leaf
                or not value.is_floating_point()
            ):
                continue
            node = scope.assignment_before(name, scope.line)
            if node is None or asks_gradient(node):  # asked for there, and lost where nothing tells
                continue
            if any(item is value for item in held) or _gradient_is_read(scope, name):
                made = getattr(node, "value", None)
                text = ast.unparse(made) if isinstance(made, ast.Call) else ""
                return GraphCut("constant", scope.place(node), text, name, proven=True)
    return None


def _gradient_is_read(scope: Scope, name: str) -> bool:
    attributes = [node for node in ast.walk(scope.function) if isinstance(node, ast.Attribute)]
    return any(node.attr == "grad" and ast.unparse(node.value) == name for node in attributes)


def _calls(scene: Scene) -> Iterator[tuple[str, ast.Call]]:
    for file in _files(scene):
        tree = tree_of(file)
        yield from ((file, call) for call in (calls_in(tree) if tree is not None else ()))


def _files(scene: Scene) -> list[str]:
    return list(dict.fromkeys(seen.file for seen in reversed(scene.frames) if seen.user))
