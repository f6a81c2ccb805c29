"""An ONNX file as the GraphDef that TensorBoard draws. Weights are not read, nor files that lie beside it."""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from torch_debugger.log.protobuf import fields, read_varint, signed
from torch_debugger.model.graph_recorder import UniqueNames, legal_name
from torch_debugger.summaries.model_graph import Output, graph_bytes, node_bytes
from torch_debugger.system.errors import UsageError

_DEEPEST = 16  # branches inside of branches


def onnx_graph_def(path: str | PathLike[str]) -> bytes:
    """The bytes of a GraphDef. Raises UsageError where the file is not there or is not ONNX."""
    try:
        with Path(path).open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        drawing = _OnnxDrawing()
        models = _all(view, MODEL_GRAPH)
        if len(models) != 1 or isinstance(models[0], int):
            raise ValueError("it holds no graph")
        drawing.draw(_graph(models[0], _DEEPEST))
        return graph_bytes(drawing.nodes)
    except OSError as error:
        raise UsageError(f"expected an ONNX file at {path}, but it cannot be read: {error.strerror}") from error
    except ValueError as error:  # also for an empty file
        raise UsageError(f"expected an ONNX file at {path}, but got something else: {error}") from error


class _OnnxDrawing:
    """Names are made unique, and each tensor is known by the node and the output that it comes from."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self._names = UniqueNames()
        self._origins: dict[str, str] = {}  # name of a tensor -> node:output
        self._known: dict[str, OnnxValue] = {}

    def draw(self, graph: OnnxGraph, scope: str = "") -> list[str]:
        """The origins of what the graph gives."""
        for value in (*graph.between, *graph.outputs, *graph.inputs, *graph.initializers):
            self._known[value.name] = value
        weights = {value.name for value in graph.initializers}
        for value in graph.initializers:
            self._tensor(value, "Parameter", scope)
        for value in graph.inputs:
            if value.name not in weights:  # older files list weights among the inputs too
                self._tensor(value, "Input", f"{scope}input/")
        for node in graph.nodes:
            self._operation(node, scope)
        origins = [self._origins[value.name] for value in graph.outputs if value.name in self._origins]
        if not scope:
            for value in graph.outputs:
                name = self._names.unique(f"output/{_path(value.name)}")
                inputs = [self._origins[value.name]] if value.name in self._origins else []
                self.nodes.append(node_bytes(name, "Output", inputs, (), texts={}))
        return origins

    def _tensor(self, value: OnnxValue, op: str, scope: str) -> None:
        name = self._names.unique(scope + _path(value.name))
        self._origins[value.name] = name
        self.nodes.append(node_bytes(name, op, (), [(value.shape, value.dtype)], texts={}))

    def _operation(self, node: OnnxNode, scope: str) -> None:
        name = self._names.unique(scope + _path(node.name or node.op))
        inputs = [self._origins[each] for each in node.inputs if each in self._origins]
        for part, graph in node.graphs.items():
            inputs += self.draw(graph, f"{name}/{legal_name(part)}/")
        for place, output in enumerate(node.outputs):
            self._origins[output] = f"{name}:{place}" if place else name
        known = [self._known.get(output) for output in node.outputs]
        outputs: list[Output] = [(None, "") if each is None else (each.shape, each.dtype) for each in known]
        self.nodes.append(node_bytes(name, node.op, inputs, outputs, texts={"detail": node.attributes}))


def _path(name: str) -> str:
    """/layer1/layer1.0/Conv and layer1.0.weight -> layer1/layer1.0/Conv and layer1/0/weight"""
    parts = name.strip("/").split("/") if "/" in name else name.split(".")
    return "/".join(legal_name(part) for part in parts if part) or "unnamed"


# The parts of onnx.proto that a drawing needs, read from the wire.
MODEL_GRAPH = 7
GRAPH_NODE, GRAPH_INITIALIZER, GRAPH_INPUT, GRAPH_OUTPUT, GRAPH_VALUE = 1, 5, 11, 12, 13
NODE_INPUT, NODE_OUTPUT, NODE_NAME, NODE_OP, NODE_ATTRIBUTE = 1, 2, 3, 4, 5
VALUE_NAME, VALUE_TYPE, TYPE_TENSOR, TENSOR_ELEMENT, TENSOR_SHAPE = 1, 2, 1, 1, 2
SHAPE_DIMENSION, DIMENSION_SIZE = 1, 1
INITIALIZER_SIZES, INITIALIZER_ELEMENT, INITIALIZER_NAME = 1, 2, 8
ATTRIBUTE_NAME, ATTRIBUTE_FLOAT, ATTRIBUTE_INT, ATTRIBUTE_TEXT = 1, 2, 3, 4
ATTRIBUTE_GRAPH, ATTRIBUTE_INTS = 6, 8
_LONGEST_TEXT = 60
_FLOAT = struct.Struct("<f")

# TensorProto.DataType
_TYPES = (
    "", "float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "str", "bool", "float16", "float64",
    "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8_e4m3fn", "float8_e4m3fnuz",
    "float8_e5m2", "float8_e5m2fnuz", "uint4", "int4", "float4_e2m1",
)  # fmt: skip


@dataclass(frozen=True)
class OnnxValue:
    """A tensor by its name in the graph."""

    name: str
    shape: tuple[int, ...] | None  # -1 for a size that has only a name; None where nothing is said
    dtype: str


@dataclass(frozen=True)
class OnnxNode:
    name: str
    op: str
    inputs: list[str]
    outputs: list[str]
    attributes: str  # strides=[2, 2], group=1
    graphs: dict[str, OnnxGraph]  # the branches of an If, the body of a Loop


@dataclass(frozen=True)
class OnnxGraph:
    nodes: list[OnnxNode]
    inputs: list[OnnxValue]
    outputs: list[OnnxValue]
    initializers: list[OnnxValue]
    between: list[OnnxValue]  # what is known of other tensors


def _graph(data: Any, depth: int) -> OnnxGraph:
    """Branches inside more than `depth` others are left out. ValueError where this is no graph."""
    return OnnxGraph(
        nodes=[_node(each, depth) for each in _all(data, GRAPH_NODE)],
        inputs=[_value(each) for each in _all(data, GRAPH_INPUT)],
        outputs=[_value(each) for each in _all(data, GRAPH_OUTPUT)],
        initializers=[_initializer(each) for each in _all(data, GRAPH_INITIALIZER)],
        between=[_value(each) for each in _all(data, GRAPH_VALUE)],
    )


def _node(data: Any, depth: int) -> OnnxNode:
    attributes = {_text(data, ATTRIBUTE_NAME): data for data in _all(data, NODE_ATTRIBUTE)}
    shown = {name: _shown(value) for name, value in attributes.items()}
    bodies = {name: _all(value, ATTRIBUTE_GRAPH) for name, value in attributes.items()}
    return OnnxNode(
        name=_text(data, NODE_NAME),
        op=_text(data, NODE_OP),
        inputs=[_decoded(each) for each in _all(data, NODE_INPUT)],
        outputs=[_decoded(each) for each in _all(data, NODE_OUTPUT)],
        attributes=", ".join(f"{name}={value}" for name, value in shown.items() if value),
        graphs={name: _graph(body[0], depth - 1) for name, body in bodies.items() if body and depth},
    )


def _shown(attribute: Any) -> str:
    """Whole numbers, one float or a text; tensors are left out."""
    if whole := _numbers(attribute, ATTRIBUTE_INTS):
        return str(whole)[:_LONGEST_TEXT]
    if whole := _numbers(attribute, ATTRIBUTE_INT):
        return str(whole[0])
    floats = _all(attribute, ATTRIBUTE_FLOAT)
    if floats and not isinstance(floats[0], int) and len(floats[0]) == _FLOAT.size:
        return f"{_FLOAT.unpack(floats[0])[0]:g}"
    return _text(attribute, ATTRIBUTE_TEXT)[:_LONGEST_TEXT]


def _value(data: Any) -> OnnxValue:
    tensors = [tensor for each in _all(data, VALUE_TYPE) for tensor in _all(each, TYPE_TENSOR)]
    shapes = [shape for tensor in tensors for shape in _all(tensor, TENSOR_SHAPE)]
    elements = [number for tensor in tensors for number in _numbers(tensor, TENSOR_ELEMENT)]
    sizes = []
    for shape in shapes:
        dimensions = [_numbers(each, DIMENSION_SIZE) for each in _all(shape, SHAPE_DIMENSION)]
        sizes.append(tuple(each[0] if each else -1 for each in dimensions))
    return OnnxValue(_text(data, VALUE_NAME), sizes[0] if sizes else None, _type(elements))


def _initializer(data: Any) -> OnnxValue:
    elements = _numbers(data, INITIALIZER_ELEMENT)
    return OnnxValue(_text(data, INITIALIZER_NAME), tuple(_numbers(data, INITIALIZER_SIZES)), _type(elements))


def _type(elements: list[int]) -> str:
    return _TYPES[elements[0]] if elements and 0 <= elements[0] < len(_TYPES) else ""


def _all(data: Any, number: int) -> list[Any]:
    if isinstance(data, int):
        raise ValueError("a number stands where a part of the graph belongs")
    return [value for each, value in fields(data) if each == number]


def _text(data: Any, number: int) -> str:
    return "".join(_decoded(value) for value in _all(data, number))


def _decoded(value: Any) -> str:
    if isinstance(value, int):
        raise ValueError("a number stands where a name belongs")
    return bytes(value).decode("utf-8", "replace")


def _numbers(data: Any, number: int) -> list[int]:
    """Some writers pack them, others do not."""
    found: list[int] = []
    for value in _all(data, number):
        if isinstance(value, int):
            found.append(signed(value))
            continue
        position = 0
        while position < len(value):
            one, position = read_varint(value, position)
            found.append(signed(one))
    return found
