"""The activation between a model's scores and the loss: what to call it, where it is, the line without it."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from torch_debugger.checks.graph import model_behind
from torch_debugger.checks.graph_ops import op_of
from torch_debugger.checks.state import RunState
from torch_debugger.records import Edit, GraphNode, LossGraph, ModelFact, ModuleFact, Place

_FUNCTIONS = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "Relu": "relu", "Tanh": "tanh",
}  # fmt: skip
_MODULES = {"Relu": "ReLU"}
_NAMESPACES = ("torch", "F", "nn.functional", "torch.nn.functional", "functional", "torch.special")


@dataclass(frozen=True)
class OutputActivation:
    node: GraphNode
    graph: LossGraph
    module: ModuleFact | None  # None where it is a function call
    model: ModelFact | None

    @property
    def function(self) -> str:
        return _FUNCTIONS[op_of(self.node)]

    @property
    def kind(self) -> str:
        return module_kind(self.node)

    @property
    def words(self) -> str:
        """`net.3` (Softmax), or the softmax at train.py:20"""
        if self.module is not None:
            return f"`{self.module.path}` ({self.module.kind})"
        place = self.node.place
        if place is not None and place.file:
            return f"the {self.function} at {place.file}:{place.line}"
        return f"a {self.function} in the model"

    @property
    def where(self) -> Place:
        if self.module is not None:
            return Place(
                self.module.place.file, self.module.place.line, self.module.path, self.module.place.code
            )
        root = self.model.root if self.model else None
        if self.node.place is not None:
            return Place(self.node.place.file, self.node.place.line, root, self.node.place.code)
        if self.model is not None and self.model.forward.file:
            return Place(self.model.forward.file, self.model.forward.line, root, self.model.forward.code)
        return self.graph.place

    @property
    def removal(self) -> Edit | None:
        """Softmax() becomes Identity(); `softmax(scores, dim=1)` becomes `scores`."""
        place = self.module.place if self.module else self.node.place or Place()
        if place.file is None or place.line is None or not place.code:
            return None
        if self.module is not None:
            after, count = re.subn(rf"\b{self.kind}\([^()]*\)", "Identity()", place.code)
        else:
            after, count = _without_call(place.code, self.function)
        return Edit(place.file, place.line, place.code, after) if count == 1 else None


def module_kind(node: GraphNode) -> str:
    return _MODULES.get(op_of(node), op_of(node))


def output_activation(graph: LossGraph, node: GraphNode, state: RunState) -> OutputActivation:
    """The model's last module of the node's kind, in definition order; a function call where it has none."""
    model = model_behind(graph, state)
    found = [module for module in model.modules if module.kind == module_kind(node)] if model else []
    return OutputActivation(node, graph, found[-1] if found else None, model)


def _without_call(code: str, function: str) -> tuple[str, int]:
    """The line with its one call of the function replaced by the call's argument, and how many there were."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return code, 0
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _called(node.func) == function]
    after = code
    for call in calls:
        text, inside = ast.get_source_segment(code, call), _argument(code, call)
        if text is None or inside is None:
            return code, 0
        after = after.replace(text, inside, 1)
    return after, len(calls)


def _argument(code: str, call: ast.Call) -> str | None:
    method = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) not in _NAMESPACES
    kept = call.func.value if method and isinstance(call.func, ast.Attribute) else next(iter(call.args), None)
    return ast.get_source_segment(code, kept) if kept is not None else None


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
