"""The backward pass watched node by node: which one made a NaN or Inf of finite gradients?"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import re
from collections.abc import Iterable, Iterator
from types import FunctionType
from typing import Any

import torch

from torch_debugger.model.autograd_graph import op_name, walk_nodes
from torch_debugger.records import Origin, Place
from torch_debugger.source.files import is_user_file, nodes_of, place_at, tree_of
from torch_debugger.source.frames import frames
from torch_debugger.source.syntax import called_name
from torch_debugger.trials.nan_operations import FINITE, INF, NAN, OperationCall, Trail, state_of, word_for

_BACKWARD = re.compile(r"Backward\d*$")
_SELECTING = frozenset({"where", "masked_fill", "masked_select", "getitem", "index_select", "gather"})


class Slopes:
    """Every node of the graph is known by the call that made it."""

    def __init__(self, trail: Trail) -> None:
        self.found: Origin | None = None
        self._trail = trail
        self._calls: dict[Any, OperationCall | None] = {}  # node -> the call; None: made where no call was seen
        self._selections: dict[Any, str] = {}  # node -> the call that chose among its values

    def label(self, call: OperationCall, outputs: Iterable[torch.Tensor]) -> None:
        """The nodes that a call has added to the graph."""
        for node in call.nodes:
            self._add(node, None)
            if call.name in _SELECTING:
                self._selections.setdefault(node, call.name)
        stack: list[Any] = [tensor.grad_fn for tensor in outputs if tensor.grad_fn is not None]
        while stack:
            node = stack.pop()
            if node is not None and node not in self._calls and type(node).__name__ != "AccumulateGrad":
                self._add(node, call)
                stack += [following for following, _ in node.next_functions]

    def _add(self, node: Any, call: OperationCall | None) -> None:
        if node not in self._calls:
            self._calls[node] = call
            node.register_hook(lambda inputs, outputs: self._look(node, inputs, outputs))

    def _look(self, node: Any, inputs: Any, outputs: Any) -> None:
        """After a node has run: `outputs` are the gradients it was given, `inputs` those it made."""
        if self.found is not None or any(state_of(each) != FINITE for each in outputs if each is not None):
            return
        for made in (each for each in inputs if each is not None):
            if (state := state_of(made)) != FINITE:
                self.found = self._describe(node, made, state)
                return

    def _describe(self, node: Any, made: torch.Tensor, state: str) -> Origin:
        call, word = self._calls[node], word_for(made, state)
        if call is None:
            return origin_of_unseen_node(node, word)
        origin = self._trail.made_by(call, made, state)
        return dataclasses.replace(
            origin,
            phase="backward",
            op=call.name,
            inner=_BACKWARD.sub("", node.name()) if call.name not in node.name().lower() else "",
            made=word,
            masked_row=False,
            selected_by=self._selections.get(node, ""),
        )


def origin_of_unseen_node(node: Any, word: str) -> Origin:
    """A Function of the user's own: its backward is where to look."""
    owner = getattr(node, "_forward_cls", None)
    written = inspect.getattr_static(owner, "backward", None) if owner is not None else None
    function = getattr(written, "__func__", written)
    place = Place()
    if isinstance(function, FunctionType) and is_user_file(function.__code__.co_filename):
        place = place_at(function.__code__.co_filename, function.__code__.co_firstlineno)
    return Origin("backward", None, _BACKWARD.sub("", node.name()), place, made=word)


# A mark of each op whose slope can be NaN, made on its device while a backward runs.
#
# Gradients that a mask leaves out again reach no leaf, and a graph that was made before anything was recorded cannot
# be run again: of both a node is all that is known.
_NODES = 4096
# Ops that make NaN of finite gradients somewhere, or of the inf that another one made.
_RISKY = frozenset({
    "Sqrt", "Rsqrt", "Log", "Log2", "Log10", "Log1P", "Div", "Reciprocal", "Norm", "LinalgVectorNorm", "Pow",
    "Std", "StdMean", "Atan2", "Acos", "Asin", "Acosh", "Atanh", "Cdist", "EuclideanDist", "PairwiseDistance",
    "Exp", "Expm1", "Mul", "LogSoftmax", "Softmax", "Logsumexp", "Prod", "Cumprod", "Xlogy", "Logit",
    "LinalgEigh", "LinalgSvd",
})  # fmt: skip
# What makes these nodes in the source; the first is the op's name.
_SPELLED = {
    "linalgvectornorm": ("norm", "vector_norm", "normalize"),
    "logsoftmax": ("log_softmax", "cross_entropy"),
    "pow": ("pow", "square"),
}
_OPERATORS = {"div": ast.Div, "pow": ast.Pow, "mul": ast.Mult}


class NodeMarks:
    """On the graph that leads to these losses, until it is taken off."""

    def __init__(self, losses: Iterable[torch.Tensor]) -> None:
        self._handles: list[Any] = []
        self._marks: list[tuple[Any, torch.Tensor]] = []  # in the order in which they ran
        starts = [loss.grad_fn for loss in losses if loss.grad_fn is not None]
        nodes = {node: None for start in starts for node in walk_nodes(start, _NODES)[0]}
        for node in nodes:
            if op_name(node) in _RISKY or hasattr(node, "_forward_cls"):
                self._handles.append(node.register_hook(functools.partial(self._mark, node)))

    def _mark(self, node: Any, made: Any, _: Any) -> None:
        for gradient in made:
            if (
                isinstance(gradient, torch.Tensor)
                and gradient.is_floating_point()
                and gradient.layout is torch.strided
                and not gradient.is_meta
                and gradient.numel() > 0
            ):
                with torch.no_grad(), torch._C.DisableTorchFunction():
                    self._marks.append((node, gradient.detach().abs().amax()))  # a NaN outdoes an inf

    def take_off(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def tensors(self) -> list[torch.Tensor]:
        return [mark for _, mark in self._marks]

    def nan(self) -> torch.Tensor | None:
        """The mark of the first gradient with a NaN."""
        return next((mark for _, mark in self._marks if bool(mark.isnan())), None)

    def origin(self) -> Origin | None:
        """The op that made the first NaN, or the inf that it was made of."""
        bad = [(node, bool(mark.isnan())) for node, mark in self._marks if not bool(mark.isfinite())]
        first = next((at for at, (_, is_nan) in enumerate(bad) if is_nan), None)
        if first is None:
            return None
        at_fault = bad[first][0]
        for node, _ in bad[:first]:
            if at_fault in walk_nodes(node, _NODES)[1]:
                return dataclasses.replace(
                    _named_by(node, INF), into_nan=_op(at_fault), into_nan_place=_named_by(at_fault, NAN).place
                )
        return _named_by(at_fault, NAN)


def _named_by(node: Any, word: str) -> Origin:
    """As autograd's own anomaly mode would, and the line where only one line can have made it."""
    origin = origin_of_unseen_node(node, word)
    if hasattr(node, "_forward_cls") or origin.op is None:
        return origin
    own = {frame.f_code.co_filename for frame in frames(2) if is_user_file(frame.f_code.co_filename)}
    places = {place for file in own for place in _lines_with(file, origin.op.lower())}
    place = places.pop() if len(places) == 1 else Place()
    return dataclasses.replace(origin, op=_op(node), place=place)


def _op(node: Any) -> str:
    op = op_name(node).lower()
    return _SPELLED.get(op, (op,))[0]


def _lines_with(file: str, op: str) -> Iterator[Place]:
    """Lines that may have made such a node."""
    tree, names = tree_of(file), _SPELLED.get(op, (op,))
    for part in nodes_of(tree) if tree is not None else ():
        if not isinstance(part, ast.Call | ast.BinOp):
            continue
        by_operator = isinstance(part, ast.BinOp) and isinstance(part.op, _OPERATORS.get(op, ()))
        if by_operator or (isinstance(part, ast.Call) and called_name(part).rstrip("_") in names):
            yield place_at(file, part.end_lineno or part.lineno)
