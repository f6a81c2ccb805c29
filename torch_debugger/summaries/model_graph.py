"""A model as the GraphDef that TensorBoard's graph tab draws: scopes inside each other, shapes on the edges."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import Any

from torch import nn

from torch_debugger.anatomy.model_graph import model_graph
from torch_debugger.anatomy.op_graph import OPERATION, GraphNode, ModelGraph
from torch_debugger.summaries.graph_bytes import graph_bytes, node_bytes


def graph_def(model: nn.Module, inputs: Any = None, verbose: bool = False) -> bytes:
    """The bytes of a GraphDef. `verbose` also prints the nodes, as torch's `add_graph` does."""
    graph = model_graph(model, inputs)
    if verbose:
        print(graph_text(graph), file=sys.stdout)  # noqa: T201 - asked for
    return graph_def_of(graph)


def graph_def_of(graph: ModelGraph) -> bytes:
    modules = {scope.name: f"{scope.module}({scope.detail})" for scope in graph.scopes}
    inputs: dict[int, list[str]] = defaultdict(list)
    for edge in graph.edges:
        inputs[edge.target].append(_input(graph.nodes[edge.source], edge.output))
    note = [node_bytes("note", "Note", (), (), texts={"detail": graph.note})] if graph.note else []
    return graph_bytes(
        note
        + [
            node_bytes(
                node.name,
                node.op if node.kind == OPERATION else node.op.capitalize(),
                inputs[place],
                [(form.shape, form.dtype) for form in node.outputs],
                device=_device(node.outputs[0].device) if node.outputs else "",
                texts={"detail": node.detail, "module": modules.get(node.scope, "")},
            )
            for place, node in enumerate(graph.nodes)
        ]
    )


def graph_text(graph: ModelGraph) -> str:
    return "\n".join(
        f"{node.name}: {node.op} -> {', '.join(str(list(form.shape)) for form in node.outputs)}"
        for node in graph.nodes
    )


def _input(node: GraphNode, output: int) -> str:
    return f"{node.name}:{output}" if output else node.name


def _device(device: str) -> str:
    """cuda:1 -> /device:GPU:1, the form by which TensorBoard colours"""
    kind, _, index = device.partition(":")
    return f"/device:{'GPU' if kind == 'cuda' else kind.upper()}:{index or 0}"
