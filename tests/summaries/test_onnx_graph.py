"""ONNX files are drawn without the onnx library, and without reading their weights."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from tests.summaries.graphs import parsed, shapes, text
from torch_debugger.summaries.onnx_graph import onnx_graph_def
from torch_debugger.system.errors import UsageError

FLOAT, BOOL = 1, 10


def value(name: str, *sizes: int | str, kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, sizes)


def branch(op: str) -> onnx.GraphProto:
    return helper.make_graph([helper.make_node(op, ["y"], [op])], op, [], [value(op, "batch", 4)])


def model() -> onnx.ModelProto:
    weight = numpy_helper.from_array(numpy.ones((3, 4), "float32"), "encoder.0.weight")
    nodes = [
        helper.make_node("MatMul", ["x", "encoder.0.weight"], ["y"], name="/encoder/0/MatMul"),
        helper.make_node("ReduceSum", ["y"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["c"], to=TensorProto.BOOL),
        helper.make_node("If", ["c"], ["z"], then_branch=branch("Relu"), else_branch=branch("Neg")),
        helper.make_node("LeakyRelu", ["z"], ["r"], alpha=0.25, name="act"),
        helper.make_node("Split", ["r"], ["a", "b"], axis=1, num_outputs=2, name="split"),
        helper.make_node("Clip", ["a", "", ""], ["k"], name="split"),
    ]
    known = [value("y", "batch", 4), value("c", kind=TensorProto.BOOL), value("b", "batch", 2)]
    outputs = [value("k", "batch", 2), value("b", "batch", 2)]
    graph = helper.make_graph(nodes, "graph", [value("x", "batch", 3)], outputs, [weight], value_info=known)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    onnx.checker.check_model(made)
    return made


def saved(folder: Path) -> Path:
    onnx.save(model(), folder / "model.onnx")
    return folder / "model.onnx"


def test_nodes_edges_and_shapes_are_those_of_the_file(tmp_path: Path) -> None:
    graph = parsed(onnx_graph_def(saved(tmp_path)))
    reading = {node.name: list(node.input) for node in graph.node}
    assert reading["encoder/0/MatMul"] == ["input/x", "encoder/0/weight"]
    assert reading["If"] == ["Cast", "If/else_branch/Neg", "If/then_branch/Relu"]
    assert reading["If/then_branch/Relu"] == ["encoder/0/MatMul"]
    assert reading["split_2"] == ["split"], "a name twice in the file, and inputs left out"
    assert reading["output/b"] == ["split:1"]
    assert shapes(graph, "encoder/0/weight") == [[3, 4]]
    assert shapes(graph, "encoder/0/MatMul") == [[-1, 4]]
    types = {node.name: node.attr["dtype"].type for node in graph.node}
    assert (types["input/x"], types["Cast"]) == (FLOAT, BOOL)
    unknown = next(node for node in graph.node if node.name == "act").attr["_output_shapes"].list.shape
    assert [shape.unknown_rank for shape in unknown] == [True]


def test_attributes_are_shown_in_short(tmp_path: Path) -> None:
    graph = parsed(onnx_graph_def(saved(tmp_path)))
    assert text(graph, "act", "detail") == "alpha=0.25"
    assert text(graph, "split", "detail") == "axis=1, num_outputs=2"


def test_weights_in_another_file_are_not_looked_for(tmp_path: Path) -> None:
    big = model()
    big.graph.initializer[0].CopyFrom(numpy_helper.from_array(numpy.ones((3, 4), "float32"), "encoder.0.weight"))
    onnx.save(big, tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    assert shapes(parsed(onnx_graph_def(tmp_path / "model.onnx")), "encoder/0/weight") == [[3, 4]]


def test_torchs_own_export_is_drawn(tmp_path: Path) -> None:
    """A file as torch.onnx names things; made by hand, since torch needs onnxscript to export."""
    names = ["/layer1/layer1.0/conv1/Conv", "/layer1/layer1.0/relu/Relu"]
    nodes = [
        helper.make_node("Conv", ["x", "layer1.0.conv1.weight"], [f"{names[0]}_output_0"], names[0], strides=[2, 2]),
        helper.make_node("Relu", [f"{names[0]}_output_0"], ["out"], names[1]),
    ]
    weight = numpy_helper.from_array(numpy.ones((8, 3, 3, 3), "float32"), "layer1.0.conv1.weight")
    graph = helper.make_graph(nodes, "main_graph", [value("x", 1, 3, 8, 8)], [value("out", 1, 8, 3, 3)], [weight])
    onnx.save(helper.make_model(graph), tmp_path / "torch.onnx")
    drawn = parsed(onnx_graph_def(tmp_path / "torch.onnx"))
    reading = {node.name: list(node.input) for node in drawn.node}
    assert reading["layer1/layer1.0/conv1/Conv"] == ["input/x", "layer1/0/conv1/weight"]
    assert text(drawn, "layer1/layer1.0/conv1/Conv", "detail") == "strides=[2, 2]"


def test_what_is_no_onnx_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"expected an ONNX file at .*gone\.onnx, but it cannot be read: No such"):
        onnx_graph_def(tmp_path / "gone.onnx")
    for name, content in (("empty", b""), ("text", b"not a model"), ("number", b"\x38\x01")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UsageError, match=f"expected an ONNX file at .*{name}, but got something else: "):
            onnx_graph_def(tmp_path / name)


def test_a_file_cut_anywhere_is_told_or_drawn(tmp_path: Path) -> None:
    whole = saved(tmp_path).read_bytes()
    for size in range(len(whole)):
        (tmp_path / "cut").write_bytes(whole[:size])
        with contextlib.suppress(UsageError):
            onnx_graph_def(tmp_path / "cut")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_a_damaged_file_is_told_or_drawn(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = bytearray(model().SerializeToString())
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.onnx"
    path.write_bytes(whole)
    with contextlib.suppress(UsageError):
        onnx_graph_def(path)


def test_the_onnx_library_is_not_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from torch_debugger.summaries.onnx_graph import onnx_graph_def; "
        f"onnx_graph_def({str(saved(tmp_path))!r}); "
        "print('onnx' in sys.modules, 'google.protobuf' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "False"]
