"""A model as the GraphDef that TensorBoard's graph tab draws: scopes inside each other, shapes on the edges."""

from __future__ import annotations

from collections import defaultdict

from torch_debugger.anatomy.unique_names import UniqueNames
from torch_debugger.records.op_graph import BUFFER, OPERATION, PARAMETER, GraphNode, ModelGraph
from torch_debugger.summaries.graph_bytes import graph_bytes, node_bytes


def graph_def(graph: ModelGraph) -> bytes:
    """The bytes of a GraphDef. Where a graph has a note, a node named `note` carries it."""
    return _Writing(graph).data()


def graph_text(graph: ModelGraph) -> str:
    lines = [f"{node.name} {[list(form.shape) for form in node.outputs]}\n" for node in graph.nodes]
    return "".join([*lines, *([f"{graph.note}\n"] if graph.note else [])])


class _Writing:
    def __init__(self, graph: ModelGraph) -> None:
        self._graph = graph
        self._scopes = {scope.name: scope for scope in graph.scopes}
        self._names = UniqueNames(node.name for node in graph.nodes)
        self._copies: dict[tuple[str, str], str] = {}  # scope and parameter -> name of the copy there
        self._nodes: list[bytes] = []

    def data(self) -> bytes:
        graph = self._graph
        inputs: dict[int, list[str]] = defaultdict(list)
        for edge in graph.edges:
            source = self._copied(graph.nodes[edge.source], graph.nodes[edge.target].scope)
            inputs[edge.target].append(f"{source}:{edge.output}" if edge.output else source)
        for place, node in enumerate(graph.nodes):
            self._add(node, node.name, inputs[place], node.detail)
        if graph.note:
            self._nodes.append(node_bytes("note", "Note", (), (), texts={"detail": graph.note}))
        return graph_bytes(self._nodes)

    def _copied(self, source: GraphNode, reader: str) -> str:
        """A module that is called again has its weights drawn again: edges between calls are data alone."""
        if source.kind not in (PARAMETER, BUFFER) or not self._is_called_again(source.scope, reader):
            return source.name
        name = self._copies.get((reader, source.name))
        if name is None:
            name = self._names.unique(f"{reader}/{source.name.rpartition('/')[2]}")
            self._copies[reader, source.name] = name
            self._add(source, name, [], f"the same as {source.name}")
        return name

    def _is_called_again(self, first: str, reader: str) -> bool:
        if first == reader or first not in self._scopes or reader not in self._scopes:
            return False
        return self._scopes[first].path == self._scopes[reader].path

    def _add(self, node: GraphNode, name: str, inputs: list[str], detail: str) -> None:
        scope = self._scopes.get(node.scope)
        module = f"{scope.module}({scope.detail})" if scope is not None else ""
        outputs = [(form.shape, form.dtype) for form in node.outputs]
        device = _device(node.outputs[0].device) if outputs else ""
        op = node.op if node.kind == OPERATION else node.op.capitalize()
        texts = {"detail": detail, "module": module}
        self._nodes.append(node_bytes(name, op, inputs, outputs, device=device, texts=texts))


def _device(device: str) -> str:
    """cuda:1 -> /device:GPU:1, the form by which TensorBoard colours"""
    kind, _, index = device.partition(":")
    return f"/device:{'GPU' if kind == 'cuda' else kind.upper()}:{index or 0}"
