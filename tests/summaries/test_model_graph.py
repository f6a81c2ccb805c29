"""The graph of a model as TensorBoard's own classes and its server read it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from google.protobuf import text_format
from tensorboard.compat.proto.graph_pb2 import GraphDef
from torch import nn
from torch.utils.tensorboard._pytorch_graph import graph as torchs_graph

from tests.summaries.boards import tensorboard_over
from tests.summaries.graphs import parsed, shapes, text, write_log
from tests.summaries.models import CASES
from torch_debugger.model.graph import model_graph
from torch_debugger.summaries.model_graph import graph_def
from torch_debugger.summaries.writer import SummaryWriter

FLOAT, INT64, BOOL, BFLOAT16 = 1, 9, 10, 14


def drawn(case: str):
    make, inputs = CASES[case]
    return parsed(graph_def(model_graph(make(), inputs)))


@pytest.mark.parametrize("case", CASES)
def test_every_model_is_a_graph_that_tensorboard_can_read(case: str) -> None:
    graph = drawn(case)
    assert graph.versions.producer > 0
    assert not [node.name for node in graph.node if re.search(r"[^\w./\-]", node.name)]


@pytest.mark.parametrize(
    ("case", "name", "expected"),
    [
        ("resnet", "ResNet/layer2/0/downsample/conv2d", [[2, 8, 4, 4]]),
        ("resnet", "ResNet/fc/linear", [[2, 10]]),
        ("gpt", "GPT/h/1/attn/softmax", [[2, 2, 7, 7]]),
        ("gpt", "GPT/h/0/attn/split", [[2, 7, 8]] * 3),
        ("gpt", "GPT/cross_entropy", [[]]),
        ("lstm", "Tagger/lstm/lstm", [[3, 6, 32], [4, 3, 16], [4, 3, 16]]),
        ("u-net", "UNet/cat", [[1, 8, 8, 8]]),
        ("two towers", "TwoTowers/matmul", [[5, 5]]),
        ("two towers", "input/batch/image", [[5, 3, 4]]),
    ],
)
def test_shapes_stand_where_tensorboard_looks_for_them(case: str, name: str, expected: list[list[int]]) -> None:
    assert shapes(drawn(case), name) == expected


def test_types_modules_and_devices_are_given() -> None:
    graph = drawn("gpt")
    types = {node.name: node.attr["dtype"].type for node in graph.node}
    assert types["input/idx"] == INT64
    assert types["GPT/h/0/attn/mask"] == BOOL
    assert types["GPT/lm_head/linear"] == FLOAT
    assert text(graph, "GPT/lm_head/linear", "module") == "Linear(in_features=8, out_features=20, bias=False)"
    assert text(graph, "GPT/h/0/attn/softmax", "detail") == "-1"
    assert next(node.device for node in graph.node if node.name == "GPT/lm_head/linear") == "/device:CPU:0"
    assert next(node.attr["dtype"].type for node in drawn("bfloat16").node) == BFLOAT16


def test_another_output_than_the_first_is_read_by_its_number() -> None:
    reading = {node.name: list(node.input) for node in drawn("lstm").node}
    assert reading["output/0"] == ["Tagger/fc/linear"]
    assert reading["output/1"] == ["Tagger/lstm/lstm:1"]


def test_a_module_called_again_has_its_weights_beside_each_call() -> None:
    graph = drawn("siamese")
    reading = {node.name: list(node.input) for node in graph.node}
    assert reading["Siamese/embed_2/0/conv1d"][1] == "Siamese/embed_2/0/weight"
    assert text(graph, "Siamese/embed_2/0/weight", "detail") == "the same as Siamese/embed/0/weight"
    assert reading["Siamese/pairwise_distance"] == ["Siamese/embed/3/linear", "Siamese/embed_2/3/linear"]


def test_weights_shared_by_two_modules_are_one_node() -> None:
    reading = {node.name: list(node.input) for node in drawn("gpt").node}
    assert reading["GPT/lm_head/linear"][1] == "GPT/wte/weight"


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::torch.jit.TracerWarning")
@pytest.mark.parametrize("case", ["resnet", "lstm", "u-net", "vae", "generator", "siamese", "seq2seq", "attention"])
def test_every_module_of_torchs_own_graph_is_there(case: str) -> None:
    make, inputs = CASES[case]
    model = make()
    theirs, _ = torchs_graph(model, inputs, False, False)
    operations = [node.name.split("/")[:-1] for node in theirs.node if node.op.startswith("aten::")]
    scopes = {"/".join(re.sub(r"^.*\[(.*)\]$", r"\1", part) for part in parts) for parts in operations}
    ours = {node.name.rpartition("/")[0] for node in parsed(graph_def(model_graph(model, inputs))).node}
    assert scopes and scopes <= ours


def test_a_model_that_cannot_be_run_says_so_in_its_graph() -> None:
    graph = parsed(graph_def(model_graph(nn.Sequential(nn.Linear(3, 3)), torch.randn(2, 5))))
    assert text(graph, "note", "detail").startswith("forward raised: RuntimeError: mat1 and mat2 shapes")
    assert text(graph, "Sequential/0/Linear", "detail") == "in_features=3, out_features=3, bias=True"


def test_verbose_prints_the_operations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(nn.Linear(3, 2), torch.randn(4, 3), verbose=True)
        assert "Linear/linear [[4, 2]]\n" in capsys.readouterr().out
        writer.add_graph(nn.Linear(3, 2), torch.randn(4, 3))
        assert capsys.readouterr().out == ""


def test_why_only_the_modules_are_drawn_is_said(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_graph(nn.Linear(3, 2), torch.randn(4, 5))
    assert "torch-debugger: add_graph(): forward raised: RuntimeError: mat1 and mat2" in capfd.readouterr().err


def test_names_that_mean_something_to_tensorboard_are_made_harmless() -> None:
    model = nn.Module()
    model.layers = nn.ModuleDict({"a/b:1": nn.Linear(2, 2), "^c": nn.Linear(2, 2), "naïve 模型": nn.Linear(2, 2)})
    model.forward = lambda x: sum(layer(x) for layer in model.layers.values())  # type: ignore[method-assign]
    names = {node.name for node in parsed(graph_def(model_graph(model, torch.randn(1, 2)))).node}
    assert {"Module/layers/a_b_1/linear", "Module/layers/_c/linear", "Module/layers/naïve_模型/linear"} <= names


def test_a_real_tensorboard_serves_the_graph(tmp_path: Path) -> None:
    make, inputs = CASES["resnet"]
    data = graph_def(model_graph(make(), inputs))
    write_log(tmp_path / "run", data)
    with tensorboard_over(tmp_path) as board:
        assert board.get_json("plugin/graphs/info")["run"]["run_graph"] is True
        served = board.get("plugin/graphs/graph", run="run", limit_attr_size=1024, large_attrs_key="_too_large")
    graph = text_format.Parse(served.decode(), GraphDef())
    assert {node.name for node in graph.node} == {node.name for node in parsed(data).node}
    assert shapes(graph, "ResNet/fc/linear") == [[2, 10]]
