"""Where a loss lost its graph: the user's lines walked back from it, beside what their names stand for now."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import numpy
from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of
from torch_debugger.anatomy.sources import covers, is_user_file, tree_of
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.examiners.autograd_scene import models_of, named_modules, scopes
from torch_debugger.probes.examiners.cut_replay import replay_cut, switch_around
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.source_cuts import SourceCut, core_of, cuts_in, is_conversion, switched_off
from torch_debugger.probes.examiners.untrained import find_untrained
from torch_debugger.probes.examiners.user_scope import (
    Scope,
    assigned,
    calls_in,
    names_read,
    statement_place,
)
from torch_debugger.records.evidence.autograd import GraphCut

_DEPTH = 6


def examine_cut(scene: Scene) -> GraphCut | None:
    """The first cut on the way back from what backward was called on."""
    for scope in scopes(scene)[:3]:
        walk = _Walk(scene, scope)
        found = walk.back_from(_failing(scope), _DEPTH) if _failing(scope) is not None else None
        if found is not None:
            return found
    return find_untrained(scene)


def _failing(scope: Scope) -> ast.stmt | None:
    lines = [node for node in scope.statements() if covers(node, scope.line) and not hasattr(node, "body")]
    # opt.zero_grad(); loss.backward(); opt.step()
    backward = [node for node in lines if "backward(" in ast.unparse(node)]
    return (backward or lines)[-1] if lines else None


class _Walk:
    """From a statement back through the variables it reads."""

    def __init__(self, scene: Scene, scope: Scope) -> None:
        self.scene, self.scope = scene, scope
        self.trainable = any(
            item.requires_grad for model in models_of(scene).values() for item in model.parameters()
        )

    def back_from(self, node: ast.stmt | None, depth: int) -> GraphCut | None:
        if node is None or depth == 0:
            return None
        return self._cut_here(node) or self._block(node) or self._call(node) or self._variables(node, depth)

    def _cut_here(self, node: ast.stmt) -> GraphCut | None:
        value = getattr(node, "value", None)
        for cut in cuts_in(value) if value is not None else ():
            core = core_of(cut.inner)
            held = self.scope.held(core)
            if self._has_graph(held) or (held is None and self._gives_graph(core)):
                return self._told(cut, node, proven=self._has_graph(held))
        return None

    def _has_graph(self, value: Any) -> bool:
        if is_one_of(value, (list, tuple)):
            return any(self._has_graph(item) for item in value[:8])
        return is_tensor(value) and bool(value.requires_grad)

    def _gives_graph(self, node: ast.expr) -> bool:
        """An expression made of something that has a graph: a trainable module's output, a variable."""
        called = [self.scope.held(call.func) for call in calls_in(node)]
        modules = [module for module in called if is_a(module, nn.Module)]
        trained = any(item.requires_grad for module in modules for item in module.parameters())
        return trained or any(self._has_graph(self.scope.named(name)) for name in names_read(node))

    def _told(self, cut: SourceCut, node: ast.stmt, proven: bool) -> GraphCut:
        text = ast.unparse(cut.node)
        inner = ast.unparse(core_of(cut.inner)) if is_conversion(cut.node) else ""
        held = self.scope.held(core_of(cut.inner))
        parts = len(held) if is_one_of(held, (list, tuple)) else 0
        return GraphCut(cut.reason, self.scope.place(node), text, inner, proven=proven, parts=parts)

    def _block(self, node: ast.stmt) -> GraphCut | None:
        """`with no_grad():` around a statement that would have made a graph."""
        blocks = [
            one for one in self.scope.statements() if isinstance(one, ast.With) and covers(one, node.lineno)
        ]
        for block in blocks[::-1]:
            contexts = [item.context_expr for item in block.items if switched_off(item.context_expr)]
            if contexts and block is not node and self._would_train(node):
                place, text = statement_place(self.scope.file, block.lineno), ast.unparse(contexts[0])
                return GraphCut("no_grad", place, text, ast.unparse(node), proven=True)
        return None

    def _would_train(self, node: ast.stmt) -> bool:
        value = getattr(node, "value", None)
        return value is not None and (self._gives_graph(value) or (self.trainable and bool(calls_in(value))))

    def _call(self, node: ast.stmt) -> GraphCut | None:
        """A model or a function of the user's that gives a result without a graph."""
        for call in calls_in(node)[::-1]:
            called = self.scope.held(call.func)
            found = None
            if is_a(called, nn.Module) and self._is_given_result(node):
                found = self._model(called, call)
            elif inspect.isfunction(called):
                found = function_cut(called, self.trainable)
            if found is not None:
                return found
        return None

    def _is_given_result(self, node: ast.stmt) -> bool:
        """Whether what the statement made has no graph now; unknown counts as yes."""
        held = [self.scope.held(ast.parse(name, mode="eval").body) for name in assigned(node)]
        return not any(self._has_graph(value) for value in held)

    def _model(self, model: nn.Module, call: ast.Call) -> GraphCut | None:
        if not any(item.requires_grad for item in model.parameters()):
            return None
        args = tuple(self.scope.value(item) for item in call.args)
        paths = {id(module): path for path, module in named_modules(self.scene)}
        return replay_cut(model, args, paths) if args and not any(item is None for item in args) else None

    def _variables(self, node: ast.stmt, depth: int) -> GraphCut | None:
        for name in dict.fromkeys(names_read(getattr(node, "value", node))):
            value = self.scope.named(name)
            if _is_data(value) and not self._has_graph(value):
                made = self.scope.assignment_before(name, node.lineno)
                found = self.back_from(made, depth - 1) if made is not node else None
                if found is not None:
                    return found
        return None


def _is_data(value: Any) -> bool:
    return is_tensor(value) or is_one_of(value, (float, list, tuple, numpy.ndarray))


def function_cut(function: Any, trainable: bool) -> GraphCut | None:
    """A cut in a function's own source: its decorator, or what it returns."""
    code = inspect.unwrap(function).__code__
    user = is_user_file(code.co_filename)
    node = _definition(code.co_filename, code.co_name, code.co_firstlineno) if user else None
    if node is None or not trainable:
        return None
    switch = switch_around(code.co_filename, node.lineno)
    if switch is not None:
        return switch
    for value in _returned(node):
        for cut in cuts_in(value):
            place = statement_place(code.co_filename, value.lineno)
            return GraphCut(cut.reason, place, ast.unparse(cut.node), ast.unparse(core_of(cut.inner)))
    return None


def _definition(file: str, name: str, line: int) -> ast.FunctionDef | None:
    """The function of this name whose first line, decorators included, this is."""
    tree = tree_of(file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.FunctionDef) and node.name == name and _first_line(node) == line:
            return node
    return None


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(item.lineno for item in node.decorator_list)])


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What is returned, and what the variables it is made of were made of, from the last line up."""
    nodes = [node for node in ast.walk(function) if isinstance(node, ast.Return | ast.Assign)]
    wanted: set[str] = set()
    for node in sorted(nodes, key=lambda node: -node.lineno):
        if node.value is not None and (isinstance(node, ast.Return) or wanted & set(assigned(node))):
            wanted |= set(names_read(node.value))
            yield node.value
