"""The backward pass watched node by node: which one made a NaN or Inf of finite gradients?"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable
from types import FunctionType
from typing import Any

import torch

from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.records import Origin, Place
from torch_debugger.trials.hunt.calls import Call
from torch_debugger.trials.hunt.states import FINITE, state_of, word_for
from torch_debugger.trials.hunt.trail import Trail

_BACKWARD = re.compile(r"Backward\d*$")
_SELECTING = frozenset({"where", "masked_fill", "masked_select", "getitem", "index_select", "gather"})


class Slopes:
    """Every node of the graph is known by the call that made it."""

    def __init__(self, trail: Trail) -> None:
        self.found: Origin | None = None
        self._trail = trail
        self._calls: dict[Any, Call | None] = {}  # node -> the call; None: made where no call was seen
        self._selections: dict[Any, str] = {}  # node -> the call that chose among its values

    def label(self, call: Call, outputs: Iterable[torch.Tensor]) -> None:
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

    def _add(self, node: Any, call: Call | None) -> None:
        if node not in self._calls:
            self._calls[node] = call
            node.register_hook(lambda inputs, outputs: self._look(node, inputs, outputs))

    def _look(self, node: Any, inputs: Any, outputs: Any) -> None:
        """After a node has run: `outputs` are the gradients it was given, `inputs` those it made."""
        if self.found is not None or any(state_of(each) != FINITE for each in outputs if each is not None):
            return
        made = [each for each in inputs if each is not None]
        bad = [(each, state) for each in made if (state := state_of(each)) != FINITE]
        if bad:
            self.found = self._describe(node, *bad[0])

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
