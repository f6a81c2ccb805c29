"""The nodes and lines of a forward that is being traced, and the walk back through what lies between two calls.

The autograd graph is there anyway: no mode is entered and no operation is patched for it. What runs without
gradients is followed as far as tensors stay the same or share their memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from torch_debugger.anatomy.gradient_ops import is_leaf_node, made_forms, operation_macs, operation_name
from torch_debugger.anatomy.graph_recorder import form_of
from torch_debugger.anatomy.graph_scopes import scoped
from torch_debugger.anatomy.unique_names import UniqueNames
from torch_debugger.probes.flow_origins import Origin, Origins
from torch_debugger.records.op_graph import OPERATION, PARAMETER, GraphEdge, GraphNode, TensorForm


@dataclass
class TracedCall:
    """A call of a module under way."""

    module: nn.Module
    scope: str
    caller: str = ""
    number: int = 0  # 1 for the first call of its module; 0: not recorded
    closed: bool = False  # its inside is not recorded
    given: set[int] = field(default_factory=set)  # ids of tensors, which the caller holds
    read: list[tuple[Origin, TensorForm]] = field(default_factory=list)
    inner: int = 0  # calls made by it
    operations: int = 0  # of its own that were found
    macs: int = 0  # of these operations
    uncounted: str = ""


class FlowWalks:
    MOST_NODES = 3000
    MOST_AT_ONCE = 400  # operations between two calls

    def __init__(self, name: str, model: nn.Module) -> None:
        self._name = name
        self.names = UniqueNames()
        self.nodes: list[GraphNode] = []
        self.edges: dict[GraphEdge, None] = {}
        self.origins = Origins()
        self._parameters = {id(value): path for path, value in model.named_parameters()}

    def add(self, name: str, kind: str, op: str, scope: str, outputs: tuple[TensorForm, ...]) -> int:
        self.nodes.append(GraphNode(self.names.unique(name), kind, op, scope, outputs))
        return len(self.nodes) - 1

    def link(self, origin: Origin | None, target: int, form: TensorForm) -> None:
        if origin is not None:
            self.edges[GraphEdge(origin.node, origin.output, target, form)] = None

    def origin(self, tensor: torch.Tensor, within: TracedCall) -> Origin | None:
        """Operations that were not known yet have run in the call `within`."""
        node = tensor.grad_fn
        if node is None:
            return self._origin_of_leaf(tensor, within)
        self._walk(node, tensor.output_nr, within)
        return self.origins.of_node(node, tensor.output_nr)

    def _origin_of_leaf(self, tensor: torch.Tensor, within: TracedCall) -> Origin | None:
        found = self.origins.of_leaf(tensor)
        if found is None and id(tensor) in self._parameters and len(self.nodes) < self.MOST_NODES:
            name = scoped(self._name, self._parameters[id(tensor)])
            found = Origin(self.add(name, PARAMETER, PARAMETER, within.scope, (form_of(tensor),)), 0)
            self.origins.put(tensor, found)
        return found

    def _walk(self, node: Any, output: int, within: TracedCall) -> None:
        """Back to what is known; makers are added before what reads them."""
        waiting = [(node, output)]
        entered: set[Any] = set()
        while waiting:
            here, number = waiting[-1]
            if self.origins.knows(here, number):
                waiting.pop()
            elif here in entered or len(entered) >= self.MOST_AT_ONCE or len(self.nodes) >= self.MOST_NODES:
                waiting.pop()
                self._add_operation(here, within)
            else:
                entered.add(here)
                waiting += [pair for pair in here.next_functions if self._is_unknown(*pair)]

    def _is_unknown(self, node: Any, output: int) -> bool:
        return node is not None and not is_leaf_node(node) and not self.origins.knows(node, output)

    def _add_operation(self, node: Any, within: TracedCall) -> None:
        if len(self.nodes) >= self.MOST_NODES:
            return
        sources = [self._operand(each, number, within) for each, number in node.next_functions]
        op = operation_name(node)
        place = self.add(f"{within.scope}/{op}", OPERATION, op, within.scope, made_forms(node))
        self.origins.put_operation(node, place)
        for source in sources:
            if source is not None and source.output < len(self.nodes[source.node].outputs):
                self.link(source, place, self.nodes[source.node].outputs[source.output])
        self._count(node, op, within)

    def _count(self, node: Any, op: str, within: TracedCall) -> None:
        macs = operation_macs(node)
        within.operations += 1
        within.macs += macs or 0
        if macs is None:
            within.uncounted = (
                f"The arithmetic of {op} in its forward is not told by the shapes that are known."
            )

    def _operand(self, node: Any, output: int, within: TracedCall) -> Origin | None:
        if node is None:
            return None
        if is_leaf_node(node):
            return self._origin_of_leaf(node.variable, within)
        return self.origins.of_node(node, output)
