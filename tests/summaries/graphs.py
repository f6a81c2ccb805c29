"""GraphDefs as TensorBoard's own classes read them, and logs that hold one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tensorboard.compat.proto.graph_pb2 import GraphDef

from torch_debugger.log.protobuf import bytes_field, event_time, version_event
from torch_debugger.log.tfrecord import frame

EVENT_GRAPH = 4


def parsed(data: bytes) -> Any:
    """After what every reader relies on was looked at: names that are unique, inputs that exist."""
    graph = GraphDef.FromString(data)
    names = [node.name for node in graph.node]
    assert len(set(names)) == len(names)
    outputs = {node.name: len(node.attr["_output_shapes"].list.shape) for node in graph.node}
    for node in graph.node:
        assert node.op
        for each in node.input:
            name, _, output = each.lstrip("^").partition(":")
            assert int(output or 0) < outputs[name], f"{node.name} reads {each}, which does not exist"
    return graph


def shapes(graph: Any, name: str) -> list[list[int]]:
    node = next(each for each in graph.node if each.name == name)
    return [[dim.size for dim in shape.dim] for shape in node.attr["_output_shapes"].list.shape]


def text(graph: Any, name: str, key: str) -> str:
    node = next(each for each in graph.node if each.name == name)
    return node.attr[key].s.decode()


def write_log(folder: Path, graph: bytes) -> None:
    folder.mkdir(parents=True)
    events = [version_event(1.0), event_time(1.0) + bytes_field(EVENT_GRAPH, graph)]
    (folder / "events.out.tfevents.1.test").write_bytes(frame(events))
