"""GraphDef, field by field, as graph.proto, node_def.proto and attr_value.proto number them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from torch_debugger.runlog.wire import fields, message, signed

MOST_NODES = 100_000

_GRAPH_NODE, _GRAPH_LIBRARY, _LIBRARY_FUNCTION = 1, 2, 1
_NODE_NAME, _NODE_OP, _NODE_INPUT, _NODE_DEVICE, _NODE_ATTRIBUTE = 1, 2, 3, 4, 5
_ENTRY_KEY, _ENTRY_VALUE = 1, 2
_VALUE_LIST, _VALUE_TEXT, _VALUE_TYPE, _VALUE_SHAPE = 1, 2, 6, 7
_LIST_SHAPE = 7
_SHAPE_DIMENSION, _SHAPE_UNKNOWN_RANK, _DIMENSION_SIZE = 2, 3, 1

# DataType in types.proto; from 101 on the same as references.
_TYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "str", 8: "complex64",
    9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 17: "uint16",
    18: "complex128", 19: "float16", 22: "uint32", 23: "uint64", 24: "float8_e5m2", 25: "float8_e4m3fn",
}  # fmt: skip
_REFERENCES = 100
_OUTPUT = re.compile(r"(.+):(\d{1,6})", re.DOTALL)

Shape = tuple[int, ...] | None  # None where not even the number of dimensions is known


class Node(NamedTuple):
    name: str
    op: str
    inputs: list[tuple[str, int]]  # of which node, and which of its outputs
    controls: int  # inputs that carry no tensor
    device: str
    texts: dict[str, str]  # attributes that are text
    shapes: list[Shape]  # of the outputs, as far as they are told
    dtype: str


class GraphDef(NamedTuple):
    nodes: list[Node]
    functions: int  # kept apart in its library
    left_out: int  # nodes beyond the most


def read_graph_def(data: bytes) -> GraphDef:
    """Raises ValueError for what is none."""
    bodies: list[bytes] = []
    functions = left_out = 0
    for number, value in fields(data):
        if number == _GRAPH_NODE and len(bodies) < MOST_NODES:
            bodies.append(_bytes(value))
        elif number == _GRAPH_NODE:
            left_out += 1
        elif number == _GRAPH_LIBRARY:
            functions += sum(inner == _LIBRARY_FUNCTION for inner, _ in fields(_bytes(value)))
    raw = [list(fields(body)) for body in bodies]
    names = {_text(value) for parts in raw for number, value in parts if number == _NODE_NAME}
    return GraphDef([_node(parts, names) for parts in raw], functions, left_out)


def _node(parts: list[tuple[int, Any]], names: set[str]) -> Node:
    name = op = device = ""
    inputs: list[tuple[str, int]] = []
    controls = 0
    attributes: dict[str, dict[int, Any]] = {}
    for number, value in parts:
        if number == _NODE_NAME:
            name = _text(value)
        elif number == _NODE_OP:
            op = _text(value)
        elif number == _NODE_DEVICE:
            device = _text(value)
        elif number == _NODE_INPUT:
            said = _text(value)
            controls += said.startswith("^")
            inputs += [] if said.startswith("^") else [_input(said, names)]
        elif number == _NODE_ATTRIBUTE:
            entry = message(_bytes(value))
            attributes[_text(entry.get(_ENTRY_KEY, b""))] = message(_bytes(entry.get(_ENTRY_VALUE, b"")))
    texts = {key: _text(each[_VALUE_TEXT]) for key, each in attributes.items() if _VALUE_TEXT in each}
    return Node(name, op, inputs, controls, device, texts, _shapes(attributes), _dtype(attributes, texts))


def _input(said: str, names: set[str]) -> tuple[str, int]:
    """`name`, or `name:1` for another output than the first; a name may itself hold a colon."""
    found = None if said in names else _OUTPUT.fullmatch(said)
    return (found[1], int(found[2])) if found else (said, 0)


def _shapes(attributes: dict[str, dict[int, Any]]) -> list[Shape]:
    told = attributes.get("_output_shapes", {}).get(_VALUE_LIST)
    if told is not None:
        return [_shape(_bytes(value)) for number, value in fields(_bytes(told)) if number == _LIST_SHAPE]
    one = attributes.get("shape", {}).get(_VALUE_SHAPE)
    return [] if one is None else [_shape(_bytes(one))]


def _shape(data: bytes) -> Shape:
    sizes: list[int] = []
    for number, value in fields(data):
        if number == _SHAPE_UNKNOWN_RANK and value:
            return None
        if number == _SHAPE_DIMENSION:
            sizes.append(signed(int(message(_bytes(value)).get(_DIMENSION_SIZE, 0))))
    return tuple(sizes)


def _dtype(attributes: dict[str, dict[int, Any]], texts: dict[str, str]) -> str:
    for key in ("dtype", "T"):
        number = attributes.get(key, {}).get(_VALUE_TYPE)
        if isinstance(number, int):
            return _TYPES.get(number % _REFERENCES, "")
    return texts.get("dtype", "")


def _bytes(value: Any) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where bytes belong")
    return value


def _text(value: Any) -> str:
    return _bytes(value).decode("utf-8", "replace")
