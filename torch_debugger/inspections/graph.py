"""`graph(loss)`: what a tensor was made from, as autograd will walk it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.bare_calls import shown_where_bare
from torch_debugger.errors import UsageError
from torch_debugger.inspections.graph_boxes import Box, boxes_of
from torch_debugger.inspections.graph_reading import Operation, read_operations
from torch_debugger.inspections.graph_svg import graph_svg
from torch_debugger.inspections.graph_text import graph_text, unreached_line
from torch_debugger.inspections.tensor_names import TensorNames, names_for


class Graph:
    """Operations in forward order; plain data, no tensor is held. str() is the graph as text."""

    def __init__(self, name: str, loss: torch.Tensor, names: TensorNames) -> None:
        self.name = name
        self.operations: list[Operation] = []
        self.complete = True
        self._reason = ""
        if loss.grad_fn is None:
            self._reason = _why_no_graph(loss)
        else:
            self.operations, more = read_operations(loss.grad_fn, names)
            self.complete = not more
        self.unreached = tuple(self._unreached(names.trained))

    def _unreached(self, models: list[list[str]]) -> Iterator[str]:
        """The rest of every model that the graph has parts of; of a model that stands alone, all the same."""
        for trained in models:
            missing = [name for name in trained if name not in self.leaves]
            if len(missing) < len(trained) or len(models) == 1:
                yield from missing

    @property
    def leaves(self) -> tuple[str, ...]:
        """The names of the parameters and other tensors it ends in."""
        found = [leaf.name for operation in self.operations for leaf in operation.leaves]
        return tuple(dict.fromkeys(name for name in found if name))

    def to_svg(self, path: str | PathLike[str] | None = None) -> str:
        """The drawing as SVG; also written to `path`, if one is given."""
        boxes = boxes_of(self.operations) if self.operations else [Box(self._title(), (), (), "constant")]
        heading = [self._title(), *self._remarks(boxes), *unreached_line(self.unreached)]
        drawing = graph_svg(boxes, heading)
        if path is not None:
            Path(path).write_text(drawing, encoding="utf-8")
        return drawing

    def __str__(self) -> str:
        return graph_text(self._title(), self.operations, self.unreached)

    __repr__ = __str__

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def _title(self) -> str:
        if not self.operations:
            return f"`{self.name}` has no graph: {self._reason}."
        leaves = {leaf for operation in self.operations for leaf in operation.leaves}
        more = "" if self.complete else ", and more that were not read"
        operations = f"{len(self.operations):,} operation{'s' if len(self.operations) > 1 else ''}"
        ends = f"{len(leaves)} {'leaf' if len(leaves) == 1 else 'leaves'}"
        return f"graph of `{self.name}`: {operations}, {ends}{more}"

    def _remarks(self, boxes: list[Box]) -> list[str]:
        drawn = sum(box.kind != "constant" for box in boxes)
        if not self.operations or drawn == len(self.operations):
            return []
        return [f"{len(self.operations):,} operations are drawn as {drawn} boxes: neighbours share one"]


def graph(
    loss: torch.Tensor, *, model: nn.Module | None = None, names: Mapping[str, torch.Tensor] | None = None
) -> Graph:
    """The autograd graph of a tensor: each operation with its shape, and the parameters it ends in.

        loss = F.cross_entropy(model(images), labels)
        print(graph(loss))
        graph(loss).to_svg("graph.svg")    # in a notebook, `graph(loss)` alone shows the drawing

    Parameters have the names of `model`, other tensors those of `names`; where these are not given,
    the models and tensors among the variables of the calling function. Parameters that are trained
    but not in the graph are listed: a `detach()` or an unused layer shows there.
    """
    if not isinstance(loss, torch.Tensor):
        raise UsageError(f"graph() takes a tensor, but got {type(loss).__name__}.")
    frame = sys._getframe(1)
    found = names_for(model, names, frame)
    return shown_where_bare(Graph(found.by_id.get(id(loss), "loss"), loss, found))


def _why_no_graph(loss: Any) -> str:
    if loss.requires_grad:
        return "it is a leaf, made by no operation"
    return (
        "it does not require a gradient. It was made under no_grad(), detached, "
        "or from tensors of which none requires one"
    )
