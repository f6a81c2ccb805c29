"""A model as the GraphDef that TensorBoard's graph tab draws: scopes inside each other, shapes on the edges."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from torch_debugger.log.protobuf import bytes_field, number_field
from torch_debugger.model.graph_recorder import UniqueNames
from torch_debugger.records.model import BUFFER, OPERATION, PARAMETER, GraphNode, ModelGraph


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
        called_again = (
            source.kind in (PARAMETER, BUFFER)
            and source.scope != reader
            and source.scope in self._scopes
            and reader in self._scopes
            and self._scopes[source.scope].path == self._scopes[reader].path
        )
        if not called_again:
            return source.name
        name = self._copies.get((reader, source.name))
        if name is None:
            name = self._names.unique(f"{reader}/{source.name.rpartition('/')[2]}")
            self._copies[reader, source.name] = name
            self._add(source, name, [], f"the same as {source.name}")
        return name

    def _add(self, node: GraphNode, name: str, inputs: list[str], detail: str) -> None:
        scope = self._scopes.get(node.scope)
        module = f"{scope.module}({scope.detail})" if scope is not None else ""
        outputs = [(form.shape, form.dtype) for form in node.outputs]
        device = ""
        if outputs:  # cuda:1 -> /device:GPU:1, the form by which TensorBoard colours
            kind, _, index = node.outputs[0].device.partition(":")
            device = f"/device:{'GPU' if kind == 'cuda' else kind.upper()}:{index or 0}"
        op = node.op if node.kind == OPERATION else node.op.capitalize()
        texts = {"detail": detail, "module": module}
        self._nodes.append(node_bytes(name, op, inputs, outputs, device=device, texts=texts))


# GraphDef in bytes, as TensorBoard's graph.proto, node_def.proto and attr_value.proto number their fields.
GRAPH_NODE, GRAPH_VERSIONS, VERSIONS_PRODUCER = 1, 4, 1
NODE_NAME, NODE_OP, NODE_INPUT, NODE_DEVICE, NODE_ATTRIBUTE = 1, 2, 3, 4, 5
ENTRY_KEY, ENTRY_VALUE = 1, 2
VALUE_LIST, VALUE_TEXT, VALUE_TYPE = 1, 2, 6
LIST_SHAPE = 7
SHAPE_DIMENSION, SHAPE_UNKNOWN_RANK, DIMENSION_SIZE = 2, 3, 1
_PRODUCER = 22  # the version that torch's graphs carry too

# DataType in types.proto
_TYPES = {
    "float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "str": 7, "complex64": 8,
    "int64": 9, "bool": 10, "qint8": 11, "quint8": 12, "qint32": 13, "bfloat16": 14, "uint16": 17,
    "complex128": 18, "float16": 19, "uint32": 22, "uint64": 23, "float8_e5m2": 24, "float8_e4m3fn": 25,
}  # fmt: skip

Output = tuple[tuple[int, ...] | None, str]  # shape, None where it is unknown, and dtype


def graph_bytes(nodes: Iterable[bytes]) -> bytes:
    versions = bytes_field(GRAPH_VERSIONS, number_field(VERSIONS_PRODUCER, _PRODUCER))
    return b"".join([*(bytes_field(GRAPH_NODE, node) for node in nodes), versions])


def node_bytes(
    name: str,
    op: str,
    inputs: Sequence[str],
    outputs: Sequence[Output],
    *,
    device: str = "",
    texts: Mapping[str, str],
) -> bytes:
    """One NodeDef; an input is `name`, `name:1` for another output than the first, `^name` without a tensor."""
    parts = [bytes_field(NODE_NAME, _text(name)), bytes_field(NODE_OP, _text(op))]
    parts += [bytes_field(NODE_INPUT, _text(each)) for each in inputs]
    parts += [bytes_field(NODE_DEVICE, _text(device))] if device else []
    parts += [_attribute(key, bytes_field(VALUE_TEXT, _text(text))) for key, text in texts.items() if text]
    if outputs:
        shapes = (bytes_field(LIST_SHAPE, _shape(shape)) for shape, _ in outputs)
        parts.append(_attribute("_output_shapes", bytes_field(VALUE_LIST, *shapes)))
        dtype = outputs[0][1]
        if dtype in _TYPES:
            parts.append(_attribute("dtype", number_field(VALUE_TYPE, _TYPES[dtype])))
        elif dtype:  # a kind that TensorFlow has no number for is given by its name
            parts.append(_attribute("dtype", bytes_field(VALUE_TEXT, _text(dtype))))
    return b"".join(parts)


def _attribute(key: str, value: bytes) -> bytes:
    return bytes_field(NODE_ATTRIBUTE, bytes_field(ENTRY_KEY, _text(key)), bytes_field(ENTRY_VALUE, value))


def _shape(shape: tuple[int, ...] | None) -> bytes:
    if shape is None:
        return number_field(SHAPE_UNKNOWN_RANK, 1)
    sizes = (bytes_field(SHAPE_DIMENSION, number_field(DIMENSION_SIZE, size)) for size in shape)
    return b"".join(sizes)


def _text(text: str) -> bytes:
    return text.encode("utf-8", "replace")
