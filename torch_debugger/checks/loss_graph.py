"""Checks that read the graph of a loss: one finding a loss, when it is first seen and again at the end."""

from __future__ import annotations

import abc
import ast
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from torch_debugger.checks.base import Check, RunState, nodes_with, op_of, within
from torch_debugger.checks.call_edits import called_name, calls_in, edit_line
from torch_debugger.records import AutogradNode, Comparison, Edit, Finding, LossGraph, ModelFact, ModuleFact, Place

_Judged = TypeVar("_Judged", LossGraph, Comparison)


class SiteCheck(Check, Generic[_Judged]):
    """Of each loss, the first record of the class that `reads` names first in which something is wrong."""

    def __init__(self) -> None:
        self._first: dict[str, _Judged] = {}  # by site

    @abc.abstractmethod
    def judge(self, record: _Judged, state: RunState) -> Finding | None:
        """What is wrong with it, if anything is."""

    def see(self, record: Any, state: RunState) -> Iterable[Finding]:
        judged: Any = self.reads[0]
        if isinstance(record, judged) and record.site not in self._first:
            finding = self.judge(record, state)
            if finding is not None:
                self._first[record.site] = record
                yield finding

    def finish(self, state: RunState) -> Iterable[Finding]:
        """The same findings; by now the model is sure to be known, and the last step."""
        found = [self.judge(record, state) for record in self._first.values()]
        return [finding for finding in found if finding is not None]


class LossGraphCheck(SiteCheck[LossGraph]):
    reads: ClassVar[tuple[type, ...]] = (LossGraph,)

    @abc.abstractmethod
    def judge(self, graph: LossGraph, state: RunState) -> Finding | None: ...


# Finding the way through the recorded part of an autograd graph.

# Ops that hand every value on unchanged: only the shape, the layout or the dtype differs.
SHAPE_ONLY = frozenset({
    "Alias", "Clone", "Flatten", "Movedim", "Permute", "Reshape", "ReshapeAlias", "Select", "Slice", "Squeeze",
    "SwapDims", "T", "ToCopy", "Transpose", "Unflatten", "UnsafeView", "Unsqueeze", "View",
})  # fmt: skip

# What (prediction - target) goes into where an error is written by hand.
BY_HAND = ("Pow", "Abs")


def operands(graph: LossGraph, node: AutogradNode) -> Iterator[AutogradNode]:
    """The nodes that made this node's operands; operands without a gradient have none."""
    for index in node.inputs:
        if index is not None and index < len(graph.nodes):
            yield graph.nodes[index]


def first_operand(graph: LossGraph, node: AutogradNode | None) -> AutogradNode | None:
    return next(operands(graph, node), None) if node is not None else None


def origin(graph: LossGraph, node: AutogradNode | None) -> AutogradNode | None:
    """The node whose values this one carries, shape-only ops skipped."""
    for _ in graph.nodes:  # a bound: a torn log may hold a loop
        following = first_operand(graph, node)
        if node is None or following is None or op_of(node) not in SHAPE_ONLY:
            break
        node = following
    return node


def fed_by(
    graph: LossGraph, ops: Iterable[str], sources: Container[str]
) -> Iterator[tuple[AutogradNode, AutogradNode]]:
    """The nodes of some ops whose first operand comes from one of the others, with that one; only changes of shape
    lie between them."""
    for node in nodes_with(graph, ops):
        source = origin(graph, first_operand(graph, node))
        if source is not None and op_of(source) in sources:
            yield node, source


def dim_of(node: AutogradNode) -> int:
    """The dimension that a softmax runs over, counted from the front."""
    dim = int(float(node.saved.get("dim", -1)))
    return dim % len(node.shape) if node.shape else dim


def prediction_in(graph: LossGraph, loss: AutogradNode) -> AutogradNode | None:
    """What a loss compares with the target; in one written by hand, the side that has a gradient."""
    taken = first_operand(graph, loss)
    if taken is None or op_of(loss) not in BY_HAND:
        return taken
    alone = op_of(taken) == "Sub" and taken.inputs.count(None) == 1
    return first_operand(graph, taken) if alone else None


def model_behind(graph: LossGraph, state: RunState) -> ModelFact | None:
    """The model whose parameters the graph ends in; the only model where the graph was cut short."""
    for node in graph.nodes:
        root = (node.parameter or "").split(".", 1)[0]
        if root in state.models:
            return state.models[root]
    return next(iter(state.models.values())) if len(state.models) == 1 else None


def line_of(graph: LossGraph, node: AutogradNode) -> Place:
    """Where a loss function stands: its own call, else the line that computes the loss, else backward()."""
    if node.place is not None and node.place.file:
        return node.place
    return graph.made if graph.made.file else graph.place


def call_of(graph: LossGraph, node: AutogradNode) -> Place:
    """The line that calls a loss function; never the one that makes a loss module."""
    makes = node.place is None or not node.place.file or "Loss(" in (node.place.code or "")
    return graph.made if makes and graph.made.file else line_of(graph, node)


# The activation between a model's scores and the loss: what to call it, where it is, the line without it.
_FUNCTIONS = {
    "Softmax": "softmax", "LogSoftmax": "log_softmax", "Sigmoid": "sigmoid", "Relu": "relu", "Tanh": "tanh",
}  # fmt: skip
_NAMESPACES = ("torch", "F", "nn.functional", "torch.nn.functional", "functional", "torch.special")


@dataclass(frozen=True)
class OutputActivation:
    node: AutogradNode
    graph: LossGraph
    module: ModuleFact | None  # None where it is a function call
    model: ModelFact | None

    @property
    def function(self) -> str:
        return _FUNCTIONS[op_of(self.node)]

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
        root = self.model.root if self.model else None
        if self.module is not None:
            return within(self.module.place, self.module.path)
        if self.node.place is not None:
            return within(self.node.place, root)
        if self.model is not None and self.model.forward.file:
            return within(self.model.forward, root)
        return self.graph.place

    @property
    def removal(self) -> Edit | None:
        """Softmax() becomes Identity(); `softmax(scores, dim=1)` becomes `scores`."""
        if self.module is not None:
            code = self.module.place.code or ""
            after, count = re.subn(rf"\b{self.module.kind}\([^()]*\)", "Identity()", code)
            return edit_line(self.module.place, after) if count == 1 else None
        place = self.node.place or Place()
        code = place.code or ""
        calls = [call for call in calls_in(code) if called_name(call) == self.function]
        if len(calls) != 1:
            return None
        called, argument = calls[0].func, next(iter(calls[0].args), None)
        if isinstance(called, ast.Attribute) and ast.unparse(called.value) not in _NAMESPACES:
            argument = called.value  # a method
        whole, inside = (ast.get_source_segment(code, part) if part else None for part in (calls[0], argument))
        return edit_line(place, code.replace(whole, inside, 1)) if whole and inside else None


def output_activation(graph: LossGraph, node: AutogradNode, state: RunState) -> OutputActivation:
    """The model's last module of the node's kind, in definition order; a function call where it has none."""
    model, kind = model_behind(graph, state), "ReLU" if op_of(node) == "Relu" else op_of(node)
    found = [module for module in model.modules if module.kind == kind] if model else []
    return OutputActivation(node, graph, found[-1] if found else None, model)
