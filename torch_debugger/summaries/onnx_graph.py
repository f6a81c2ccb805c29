"""An ONNX file as the GraphDef that TensorBoard draws. Weights are not read, nor files that lie beside it."""

from __future__ import annotations

import mmap
from os import PathLike
from pathlib import Path

from torch_debugger.anatomy.unique_names import UniqueNames, legal_name
from torch_debugger.errors import UsageError
from torch_debugger.summaries.graph_bytes import Output, graph_bytes, node_bytes
from torch_debugger.summaries.onnx_messages import OnnxGraph, OnnxNode, Value, read_model

_DEEPEST = 16  # branches inside of branches


def onnx_graph_def(path: str | PathLike[str]) -> bytes:
    """The bytes of a GraphDef. Raises UsageError where the file is not there or is not ONNX."""
    try:
        with Path(path).open("rb") as file:
            view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        drawing = _Drawing()
        drawing.draw(read_model(view, _DEEPEST))
        return graph_bytes(drawing.nodes)
    except OSError as error:
        raise UsageError(f"expected an ONNX file at {path}, but it cannot be read: {error.strerror}") from error
    except ValueError as error:  # also for an empty file
        raise UsageError(f"expected an ONNX file at {path}, but got something else: {error}") from error


class _Drawing:
    """Names are made unique, and each tensor is known by the node and the output that it comes from."""

    def __init__(self) -> None:
        self.nodes: list[bytes] = []
        self._names = UniqueNames()
        self._origins: dict[str, str] = {}  # name of a tensor -> node:output
        self._known: dict[str, Value] = {}

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
        given = [self._origins[value.name] for value in graph.outputs if value.name in self._origins]
        if not scope:
            self._outputs(graph)
        return given

    def _tensor(self, value: Value, op: str, scope: str) -> None:
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
        outputs = [self._form(output) for output in node.outputs]
        self.nodes.append(node_bytes(name, node.op, inputs, outputs, texts={"detail": node.attributes}))

    def _outputs(self, graph: OnnxGraph) -> None:
        for value in graph.outputs:
            name = self._names.unique(f"output/{_path(value.name)}")
            inputs = [self._origins[value.name]] if value.name in self._origins else []
            self.nodes.append(node_bytes(name, "Output", inputs, (), texts={}))

    def _form(self, name: str) -> Output:
        value = self._known.get(name)
        return (None, "") if value is None else (value.shape, value.dtype)


def _path(name: str) -> str:
    """/layer1/layer1.0/Conv and layer1.0.weight -> layer1/layer1.0/Conv and layer1/0/weight"""
    parts = name.strip("/").split("/") if "/" in name else name.split(".")
    return "/".join(legal_name(part) for part in parts if part) or "unnamed"
