"""The graph of a model shows what it does, and leaves the model as it was."""

from __future__ import annotations

import itertools
import random

import numpy
import pytest
import torch
from torch import nn

from tests.summaries.flow import node, reached_from_inputs, readers, sources, state_of
from tests.summaries.models import CASES, GraphConvolution, ResNet, TwoTowers
from torch_debugger.model.graph import model_graph


@pytest.mark.parametrize("case", CASES)
def test_whatever_people_write_gives_a_whole_graph(case: str) -> None:
    make, inputs = CASES[case]
    graph = model_graph(make(), inputs)
    assert graph.note == ""
    assert len({each.name for each in graph.nodes}) == len(graph.nodes)
    assert not [each.name for each in graph.nodes if each.kind == "constant"], "a tensor came from nowhere"
    for edge in graph.edges:
        assert edge.source < edge.target
        assert graph.nodes[edge.source].outputs[edge.output] == edge.form
    outputs = {each.name for each in graph.nodes if each.kind == "output"}
    assert outputs and outputs <= reached_from_inputs(graph)
    assert {each.scope for each in graph.nodes} <= {"", *(scope.name for scope in graph.scopes)}


@pytest.mark.parametrize("case", CASES)
def test_the_run_leaves_no_trace(case: str) -> None:
    make, inputs = CASES[case]
    model = make()
    before, modes = state_of(model), [module.training for module in model.modules()]
    versions = [parameter._version for parameter in model.parameters()]
    attributes = [dict(vars(module)) for module in model.modules()]
    hooks = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()]
    draws = torch.get_rng_state(), random.getstate(), numpy.random.get_state()[1].tolist()
    given = [tensor.clone() for tensor in tensors(inputs)]
    model_graph(model, inputs)
    assert all(torch.equal(value, before[name]) for name, value in state_of(model).items())
    assert modes == [module.training for module in model.modules()]
    assert [dict(vars(module)) for module in model.modules()] == attributes
    assert hooks == [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.modules()]
    assert torch.equal(torch.get_rng_state(), draws[0])
    assert (random.getstate(), numpy.random.get_state()[1].tolist()) == draws[1:]
    assert all(torch.equal(a, b) for a, b in zip(tensors(inputs), given, strict=True))
    assert all(parameter.grad is None for parameter in model.parameters())
    if case != "clamped":  # whose own forward writes into them
        assert versions == [parameter._version for parameter in model.parameters()]


def tensors(value: object) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [tensor for item in items for tensor in tensors(item)]


def test_a_residual_connection_is_an_edge_around_the_block() -> None:
    graph = model_graph(ResNet(), torch.randn(2, 3, 32, 32))
    assert sources(graph, "ResNet/layer1/0/add_") == {"ResNet/layer1/0/bn2/batch_norm", "ResNet/max_pool2d"}
    assert sources(graph, "ResNet/layer2/0/add_") == {
        "ResNet/layer2/0/bn2/batch_norm",
        "ResNet/layer2/0/downsample/conv2d",
    }
    assert node(graph, "ResNet/layer1/0/conv1/conv2d").outputs[0].shape == (2, 8, 8, 8)
    assert node(graph, "ResNet/conv1/weight").outputs[0].dtype == "float32"


def test_a_module_that_is_called_twice_has_two_scopes_and_one_weight() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.block = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

        def forward(self, x):
            return self.block(self.block(x))

    graph = model_graph(Twice(), torch.randn(2, 4))
    calls = [(scope.name, scope.path, scope.call) for scope in graph.scopes if scope.path == "block.0"]
    assert calls == [("Twice/block/0", "block.0", 1), ("Twice/block_2/0", "block.0", 2)]
    assert readers(graph, "Twice/block/0/weight") == {"Twice/block/0/linear", "Twice/block_2/0/linear"}
    assert sources(graph, "Twice/block_2/0/linear") >= {"Twice/block/1/relu"}
    assert {scope.detail for scope in graph.scopes if scope.path == "block.0"} == {
        "in_features=4, out_features=4, bias=True"
    }


def test_writing_into_a_view_is_seen_by_who_reads_the_whole() -> None:
    class Writes(nn.Module):
        def forward(self, x):
            y = x.clone()
            y[:, 0].fill_(1)
            y[0] = 2
            return y.sum()

    graph = model_graph(Writes(), torch.randn(2, 4))
    order = ["clone", "getitem", "fill_", "setitem", "sum"]
    for before, after in itertools.pairwise(order):
        assert sources(graph, f"Writes/{after}") == {f"Writes/{before}"}
    assert [form.shape for form in node(graph, "Writes/fill_").outputs] == [(2,), (2, 4)]


def test_what_does_nothing_stays_apart_from_what_it_was_given() -> None:
    class Skips(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.skip, self.drop = nn.Identity(), nn.Dropout()

        def forward(self, x):
            same, dropped = self.skip(x), self.drop(x)
            return x + 1, same + 2, dropped + 3

    graph = model_graph(Skips(), torch.randn(2, 4))
    assert sources(graph, "Skips/add") == {"input/x"}
    assert sources(graph, "Skips/add_2") == {"Skips/skip/Identity"}
    assert sources(graph, "Skips/add_3") == {"Skips/drop/dropout"}


def test_numbers_that_leave_for_python_are_shown() -> None:
    graph = model_graph(*made("gated"))
    assert {"Gated/item", "Gated/bool", "Gated/float"} <= {each.name for each in graph.nodes}
    assert "Gated/large/weight" not in {each.name for each in graph.nodes}


def made(case: str) -> tuple[nn.Module, object]:
    make, inputs = CASES[case]
    return make(), inputs


def test_scatter_and_index_are_real_edges() -> None:
    graph = model_graph(*made("graph convolution"))
    assert isinstance(CASES["graph convolution"][0](), GraphConvolution)
    assert sources(graph, "GraphConvolution/index_add_") == {
        "GraphConvolution/zeros_like",
        "GraphConvolution/unbind",
        "GraphConvolution/getitem",
    }


def test_inputs_and_outputs_have_the_names_of_the_user() -> None:
    graph = model_graph(TwoTowers(), CASES["two towers"][1])
    inputs = [each.name for each in graph.nodes if each.kind == "input"]
    outputs = [each.name for each in graph.nodes if each.kind == "output"]
    assert inputs == ["input/batch/image", "input/batch/text"]
    assert outputs == ["output/logits", "output/embeddings/image", "output/embeddings/text"]


@pytest.mark.parametrize(
    "inputs", [{"src": torch.randn(2, 5, 8)}, (torch.randn(2, 5, 8), None), [torch.randn(2, 5, 8)]]
)
def test_keywords_tuples_and_lists_are_arguments(inputs: object) -> None:
    graph = model_graph(CASES["masked transformer"][0](), inputs)
    assert graph.note == ""
    assert [each.name for each in graph.nodes if each.kind == "input"] == ["input/src"]


def test_a_training_is_the_same_to_the_bit_with_and_without_graphs() -> None:
    def trained(draws: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(), nn.Linear(8, 1))
        optimizer = torch.optim.Adam(model.parameters())
        for _ in range(5):
            batch = torch.randn(16, 4)
            loss = model(batch).square().mean()
            if draws:
                assert model_graph(model, batch).note == ""
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [*model.state_dict().values(), torch.rand(1)]

    assert all(torch.equal(a, b) for a, b in zip(trained(True), trained(False), strict=True))
