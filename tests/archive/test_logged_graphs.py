"""Graphs of `add_graph`, read as TensorBoard reads them, and drawn as our own are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorboardX
import torch
import torch.utils.tensorboard
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.graph_pb2 import GraphDef
from torch import nn

import torch_debugger
from tests.runlog.peers import tensorboard_run
from tests.viewer.asking import ask
from torch_debugger.log.graphs import model_graph, read_graph_def
from torch_debugger.log.run import Run
from torch_debugger.log.tfrecord import frame
from torch_debugger.records.model import OPERATION, OUTPUT, PARAMETER, ModelGraph
from torch_debugger.system.errors import DebuggerError
from torch_debugger.viewer.shown_runs import ShownRuns

WRITERS = [
    torch.utils.tensorboard.SummaryWriter,
    tensorboardX.SummaryWriter,
    torch_debugger.SummaryWriter,
]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)
        self.act = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.act(x + self.act(self.conv(x)))  # the same module twice


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.heads = nn.ModuleList([nn.Linear(4, 3), nn.Linear(4, 5)])

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        low, high = x.mean(dim=(2, 3)).view(x.size(0), -1).chunk(2, 0)
        return self.heads[0](low), self.heads[1](high)


@pytest.fixture(scope="module", params=WRITERS, ids=["torch", "tensorboardX", "ours"])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place: Path = tmp_path_factory.mktemp("graph")
    writer = request.param(str(place))
    writer.add_graph(Net(), torch.rand(2, 1, 8, 8))
    writer.add_scalar("loss", 1.0, 0)
    writer.close()
    return place


def logged(folder: Path) -> ModelGraph:
    run = Run(folder)
    (graph,) = run.media_at("graphs", "graph", run.steps_of("graphs")["graph"])
    return graph


def test_every_node_is_read_as_tensorboard_reads_it(folder: Path) -> None:
    theirs = tensorboard_run(folder).Graph()
    ours = read_graph_def(theirs.SerializeToString()).nodes

    assert len(ours) == len(theirs.node) > 10
    for one, other in zip(ours, theirs.node, strict=True):
        assert (one.name, one.op, one.device) == (other.name, other.op, other.device)
        assert [f"{name}:{output}" if output else name for name, output in one.inputs] == list(other.input)
        shapes = other.attr["_output_shapes"].list.shape if "_output_shapes" in other.attr else []
        assert one.shapes == [tuple(size.size for size in shape.dim) for shape in shapes]


def test_modules_have_their_paths_and_operations_their_shapes(folder: Path) -> None:
    graph = logged(folder)
    paths = {module.path: module.module for module in graph.modules}
    convs = [node for node in graph.nodes if node.kind == OPERATION and "conv" in node.op]
    scopes = {scope.name: scope.path for scope in graph.scopes}

    assert {"stem": "Conv2d", "blocks.1": "Block", "blocks.0.conv": "Conv2d", "heads.1": "Linear"}.items() <= (
        paths.items()
    )
    assert [scopes[node.scope] for node in convs] == ["stem", "blocks.0.conv", "blocks.1.conv"]
    assert {node.outputs[0].shape for node in convs} == {(2, 4, 8, 8)}
    assert "blocks.0.conv.weight" in {
        ".".join(node.name.split("/")[1:]) for node in graph.nodes if node.kind == PARAMETER
    }


def test_what_flows_passes_lists_and_tuples_and_no_sizes(folder: Path) -> None:
    graph = logged(folder)
    by_place = dict(enumerate(graph.nodes))
    chunk = next(place for place, node in by_place.items() if node.op == "chunk")
    readers = {(edge.output, by_place[edge.target].op) for edge in graph.edges if edge.source == chunk}

    assert readers == {(0, "linear"), (1, "linear")}
    assert not {node.op for node in graph.nodes} & {"size", "ListConstruct", "TupleUnpack", "GetAttr", "Int"}
    outputs = [place for place, node in by_place.items() if node.kind == OUTPUT]
    sources = {by_place[edge.source].op for edge in graph.edges if edge.target in outputs}
    assert sources == {"linear"}
    assert all(edge.source < edge.target for edge in graph.edges)


def test_the_page_is_told_of_it_as_of_a_model(folder: Path) -> None:
    shown_runs = ShownRuns({"": str(folder)}, of_others=True)
    about, model = ask(shown_runs, "about", run="."), ask(shown_runs, "model", run=".")

    assert about["has"]["model"] and about["tags"]["graphs"] == 1
    assert model["roots"] == [model["root"]] == ["add_graph"] and model["class"] == "Net"
    shown = {part["path"] for group in model["drawing"]["groups"].values() for part in group["parts"]}
    assert {"stem", "blocks.0", "blocks.0.conv", "heads.1"} <= shown
    rows = {row["path"]: row for row in model["modules"]}
    assert rows["add_graph.stem"]["given"] == [[2, 1, 8, 8]]
    assert rows["add_graph.stem"]["made"] == [[2, 4, 8, 8]]
    assert {each["name"] for each in rows["add_graph.stem"]["own"]} == {"weight", "bias"}


def foreign(*nodes: tuple[str, str, list[str]]) -> ModelGraph:
    graph = GraphDef()
    for name, op, inputs in nodes:
        graph.node.add(name=name, op=op, input=inputs)
    return model_graph(read_graph_def(graph.SerializeToString()))


def test_a_graph_of_tensorflow_is_nested_by_its_names() -> None:
    graph = foreign(
        ("x", "Placeholder", []),
        ("dense/kernel", "VarHandleOp", []),
        ("dense/MatMul", "MatMul", ["x", "dense/kernel"]),
        ("act/Relu", "Relu", ["dense/MatMul:0", "^dense/MatMul"]),
    )

    assert [(node.kind, node.op) for node in graph.nodes] == [
        ("input", "input"),
        ("parameter", "VarHandleOp"),
        ("operation", "MatMul"),
        ("operation", "Relu"),
    ]
    assert {scope.path for scope in graph.scopes} == {"", "dense", "act"}
    assert "1 control input, which carries no tensor, is not drawn." in graph.note


def test_lines_in_a_circle_are_cut_and_said() -> None:
    graph = foreign(("a", "Loop", ["b"]), ("b", "Loop", ["a"]), ("c", "End", ["c", "missing"]))

    assert "1 line that leads back in a circle had to be cut." in graph.note
    assert len(graph.nodes) == 3


def answered(folder: Path, body: bytes) -> Any:
    event = Event(wall_time=1.0, step=2, graph_def=body)
    (folder / "events.out.tfevents.1").write_bytes(frame([event.SerializeToString()]))
    return ask(ShownRuns({"": str(folder)}, of_others=True), "model", run=".")


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"\x0a\x02\x08\x01", b"\x0a\x05\x0a\x09abc"])
def test_a_damaged_graph_is_said_to_be(tmp_path: Path, body: bytes) -> None:
    with pytest.raises(DebuggerError, match="damaged: its bytes are no GraphDef"):
        answered(tmp_path, body)


def test_an_empty_graph_is_drawn_as_nothing(tmp_path: Path) -> None:
    assert answered(tmp_path, b"")["operations"] == 0
